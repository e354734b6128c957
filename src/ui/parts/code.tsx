import { useMemo } from "preact/hooks";
import { visibleLines } from "../../domain/visible.ts";
import { Copy } from "./copy.tsx";
import { type Piece, pythonLines } from "./highlight.ts";

interface CodeParts {
  readonly text: string;
  readonly language?: "python" | "text";
  /** Name of the file, for screen readers and above the text. */
  readonly file?: string;
  /** Number of the first line. */
  readonly firstLine?: number;
  /** The line that is meant, which is marked. */
  readonly line?: number;
}

/** Source text with numbered lines, coloured where its language is known. */
export function Code({ text: given, language = "text", file, firstLine = 1, line }: CodeParts) {
  const text = given.endsWith("\n") ? given.slice(0, -1) : given;
  const lines = useMemo(
    () => (language === "python" ? pythonLines(text) : text.split("\n").map((one): Piece[] => [{ text: one, classes: "" }])),
    [text, language],
  );
  return (
    <figure class="code">
      <figcaption>
        <code>{visibleLines(file ?? "")}</code>
        <Copy text={given} what="the text" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        {lines.map((pieces, at) => (
          <div key={at} id={`L${firstLine + at}`} class={firstLine + at === line ? "code-line meant" : "code-line"}>
            <span class="line-number" aria-hidden="true">
              {firstLine + at}
            </span>
            <code>
              {pieces.map((piece, place) =>
                piece.classes === "" ? (
                  visibleLines(piece.text)
                ) : (
                  <span key={place} class={piece.classes}>
                    {visibleLines(piece.text)}
                  </span>
                ),
              )}
            </code>
          </div>
        ))}
      </pre>
    </figure>
  );
}
