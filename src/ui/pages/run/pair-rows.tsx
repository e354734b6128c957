import type { ComponentChildren } from "preact";
import { CompletedField } from "../../parts/completed-field.tsx";
import type { Pair } from "./query-form.ts";

interface RowsParts {
  /** What the rows are, in the plural: `Inputs`. */
  readonly title: string;
  /** What one row is: `Input`. */
  readonly thing: string;
  readonly pairs: readonly Pair[];
  readonly onChange: (pairs: readonly Pair[]) => void;
  readonly complete: (typed: string) => readonly string[];
  /** What stands after the value, such as its type. */
  readonly after?: (name: string) => ComponentChildren;
  readonly placeholder?: string;
}

/** Names with values, a row each, and the way to one more. */
export function PairRows({ title, thing, pairs, onChange, complete, after, placeholder = "" }: RowsParts) {
  const set = (at: number, pair: Pair) => onChange(pairs.with(at, pair));
  return (
    <fieldset class="pairs">
      <legend>{title}</legend>
      {pairs.map(([name, text], at) => (
        // The rows have no identity but their place.
        <div key={at} class="pair">
          <CompletedField
            label={`${thing} ${at + 1}`}
            value={name}
            complete={complete}
            onType={(typed) => set(at, [typed, text])}
            placeholder="name"
          />
          <input
            aria-label={`Value of ${thing.toLowerCase()} ${at + 1}`}
            value={text}
            autocomplete="off"
            spellcheck={false}
            placeholder={placeholder}
            onInput={(event) => set(at, [name, event.currentTarget.value])}
          />
          <span class="dim pair-after">{after?.(name)}</span>
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${thing.toLowerCase()} ${at + 1}`}
            onClick={() => onChange(pairs.toSpliced(at, 1))}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" onClick={() => onChange([...pairs, ["", ""]])}>
        Add {/^[aeiou]/i.test(thing) ? "an" : "a"} {thing.toLowerCase()}
      </button>
    </fieldset>
  );
}
