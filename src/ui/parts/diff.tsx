import { unifiedHunks } from "../../domain/line-diff.ts";
import { visibleLines } from "../../domain/visible.ts";

interface DiffParts {
  /** What the texts are, for example a file's name. */
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

const KINDS: Readonly<Record<string, readonly [className: string, word: string]>> = {
  "+": ["added", "added"],
  "-": ["removed", "removed"],
  "@": ["hunk", ""],
};

/** What differs between two texts, line by line, with some lines around. */
export function Diff({ label, before, after }: DiffParts) {
  const hunks = unifiedHunks(before, after);
  if (hunks === "") return <p class="dim">{visibleLines(label)}: no difference.</p>;
  return (
    <figure class="code diff">
      <figcaption>
        <code>{visibleLines(label)}</code>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        {hunks.split("\n").map((text, at) => {
          const [className, word] = KINDS[text[0] ?? ""] ?? ["", ""];
          return (
            <div key={at} class={`code-line ${className}`}>
              {word !== "" && <span class="unseen">{word}: </span>}
              <code>{visibleLines(text)}</code>
            </div>
          );
        })}
      </pre>
    </figure>
  );
}
