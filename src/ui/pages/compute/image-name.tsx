import { escapeControls } from "../../../domain/name.ts";

/** The name of an image, whole on hover where a column cuts it. */
export function ImageName({ image }: { readonly image: string }) {
  const text = escapeControls(image);
  return <code title={text}>{text}</code>;
}
