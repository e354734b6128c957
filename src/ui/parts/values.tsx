import { useSignal } from "@preact/signals";
import { visibleLines } from "../../domain/visible.ts";
import { Copy } from "./copy.tsx";
import { vectorText } from "./vector-text.ts";

/** Characters of a value that are shown until one asks for more. */
const CUT = 200;

/**
 * A value in JSON, typed by its look. A long one is cut until one asks for more, and of a vector
 * its size, norm and first numbers are told.
 */
export function Value({ value }: { readonly value: unknown }) {
  const isWhole = useSignal(false);
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  const kind = value === null || value === undefined ? "null" : typeof value;
  const told = vectorText(value);
  const shown = isWhole.value ? text : (told ?? text.slice(0, CUT));
  const isLong = told !== undefined || text.length > CUT;
  return (
    <span class={`value ${kind}`}>
      <code>{visibleLines(kind === "null" ? "null" : shown)}</code>
      {isLong && (
        <button type="button" class="quiet" aria-expanded={isWhole.value} onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? "less" : told !== undefined ? "all" : `${text.length - CUT} more`}
        </button>
      )}
      {isLong && <Copy text={text} what="the value" />}
    </span>
  );
}
