import { useSignal } from "@preact/signals";
import { now } from "../app/clock.ts";
import { queried, setQueried } from "../app/place.ts";
import { RANGES, rangeText, readRange } from "./time-range.ts";
import { localText } from "./time-text.ts";

/**
 * The range of time that a page shows, in the address as `?range=`: one of the last, or two times.
 */
export function Range({ label = "Range" }: { readonly label?: string }) {
  const text = queried("range");
  const range = readRange(text, now.value);
  const current = rangeText(range);
  const isCustom = useSignal(range.lastMs === undefined);
  const set = (from: string, to: string) => {
    const [start, end] = [new Date(from).getTime(), new Date(to).getTime()];
    if (start < end) setQueried({ range: rangeText({ from: start, to: end }) });
  };
  const field = (ms: number) => localText(ms).replace(" ", "T").slice(0, 16);
  return (
    <fieldset class="range">
      <legend class="unseen">{label}</legend>
      <div class="segments">
        {RANGES.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={!isCustom.value && name === current}
            onClick={() => {
              isCustom.value = false;
              setQueried({ range: name === "1h" ? "" : name });
            }}
          >
            {name}
          </button>
        ))}
        <button type="button" aria-pressed={isCustom.value} onClick={() => (isCustom.value = true)}>
          From, to
        </button>
      </div>
      {isCustom.value && (
        <>
          <input
            type="datetime-local"
            aria-label="From"
            value={field(range.from)}
            onChange={(event) => set(event.currentTarget.value, field(range.to))}
          />
          <input
            type="datetime-local"
            aria-label="To"
            value={field(range.to)}
            onChange={(event) => set(field(range.from), event.currentTarget.value)}
          />
        </>
      )}
    </fieldset>
  );
}
