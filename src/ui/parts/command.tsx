import { visibleLines } from "../../domain/visible.ts";
import { Copy } from "./copy.tsx";

/** A command line of `svc` that gives what is shown here, with a button that copies it. */
export function Command({ line }: { readonly line: string }) {
  return (
    <span class="command">
      <code>
        {visibleLines(line)
          .split(" ")
          .map((word, at) => [at > 0 && " ", <span key={at}>{word}</span>])}
      </code>
      <Copy text={line} />
    </span>
  );
}
