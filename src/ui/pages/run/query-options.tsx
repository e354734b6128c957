import { PLANNER_OPTIONS, type PlannerOption } from "../../../domain/planner-options.ts";
import { PairRows } from "./pair-rows.tsx";
import type { PairsName, QueryForm } from "./query-form.ts";

interface OptionsParts {
  readonly form: QueryForm;
  readonly onChange: (changes: Partial<QueryForm>) => void;
  readonly complete: (typed: string) => readonly string[];
}

const SWITCHES = [
  ["explain", "Explain: the plan with its figures"],
  ["trace", "Trace: where the time goes"],
  ["stages", "Keep what every step gives (much slower)"],
] as const;
const TEXTS = [
  ["now", "As of", "2024-05-01T12:00:00Z, or empty for now"],
  ["queryName", "Query name", ""],
  ["queryNameVersion", "Its version", ""],
  ["correlationId", "Correlation id", ""],
] as const;
const OPTION_NAMES = Object.keys(PLANNER_OPTIONS);

/** What a query can have beside inputs and outputs. Open when something there is set. */
export function QueryOptions({ form, onChange, complete }: OptionsParts) {
  const isSet =
    TEXTS.some(([name]) => form[name] !== "") ||
    [form.staleness, form.plannerOptions, form.context, form.tags].some(({ length }) => length > 0);
  const rows = (name: PairsName) => (pairs: QueryForm[PairsName]) => onChange({ [name]: pairs });
  return (
    <>
      <div class="switches">
        {SWITCHES.map(([name, text]) => (
          <label key={name}>
            <input type="checkbox" checked={form[name]} onChange={(event) => onChange({ [name]: event.currentTarget.checked })} /> {text}
          </label>
        ))}
      </div>
      <details open={isSet}>
        <summary>More options</summary>
        <div class="option-texts">
          {TEXTS.map(([name, title, placeholder]) => (
            <label key={name} class="field">
              <span>{title}</span>
              <input
                value={form[name]}
                placeholder={placeholder}
                autocomplete="off"
                spellcheck={false}
                onInput={(event) => onChange({ [name]: event.currentTarget.value })}
              />
            </label>
          ))}
          <label class="field">
            <span>Tags, with commas between</span>
            <input
              value={form.tags.join(",")}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget: { value } }) => onChange({ tags: value === "" ? [] : value.split(",") })}
            />
          </label>
        </div>
        <PairRows
          {...{ title: "Age of stored values", thing: "Staleness", placeholder: "1h", pairs: form.staleness, complete }}
          onChange={rows("staleness")}
        />
        <PairRows
          {...{ title: "Planner options", thing: "Option", pairs: form.plannerOptions }}
          complete={(typed) => OPTION_NAMES.filter((name) => name.includes(typed.trim()))}
          after={(name) => Object.hasOwn(PLANNER_OPTIONS, name) && (PLANNER_OPTIONS as Record<string, PlannerOption>)[name]?.values}
          onChange={rows("plannerOptions")}
        />
        <PairRows
          {...{ title: "Context for resolvers", thing: "Entry", pairs: form.context }}
          complete={() => []}
          onChange={rows("context")}
        />
      </details>
    </>
  );
}
