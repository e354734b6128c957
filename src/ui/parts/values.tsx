import { useSignal } from "@preact/signals";
import { visibleLines } from "../../domain/visible.ts";
import { Copy } from "./copy.tsx";

/** Characters of a value that are shown until one asks for more. */
const CUT = 200;

/** A value in JSON, typed by its look; a long one is cut until one asks for more. */
export function Value({ value }: { readonly value: unknown }) {
  const isWhole = useSignal(false);
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  const kind = value === null || value === undefined ? "null" : typeof value;
  const shown = isWhole.value ? text : text.slice(0, CUT);
  return (
    <span class={`value ${kind}`}>
      <code>{visibleLines(kind === "null" ? "null" : shown)}</code>
      {text.length > CUT && (
        <button type="button" class="quiet" aria-expanded={isWhole.value} onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? "less" : `${text.length - CUT} more`}
        </button>
      )}
      {text.length > CUT && <Copy text={text} what="the value" />}
    </span>
  );
}
