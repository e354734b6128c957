import { Page } from "../parts/page.tsx";

/** All parts of pages in all their states. */
export default function Gallery() {
  return <Page title="Gallery" />;
}
