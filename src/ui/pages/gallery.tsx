import { Page } from "../parts/page.tsx";
import { CHARTS } from "./gallery/charts.tsx";
import { CONTROLS } from "./gallery/controls.tsx";
import type { Example } from "./gallery/example.ts";
import { STATES } from "./gallery/states.tsx";
import { TEXTS } from "./gallery/texts.tsx";

const GROUPS: readonly (readonly [title: string, examples: readonly Example[]])[] = [
  ["States", STATES],
  ["Controls", CONTROLS],
  ["Texts", TEXTS],
  ["Charts", CHARTS],
];

/** All parts of pages in all their states. */
export default function Gallery() {
  return (
    <Page title="Gallery">
      {GROUPS.map(([title, examples]) => (
        <section key={title}>
          <h2>{title}</h2>
          {examples.map(([name, Content]) => (
            <div key={name} class="example">
              <h3>{name}</h3>
              <Content />
            </div>
          ))}
        </section>
      ))}
    </Page>
  );
}
