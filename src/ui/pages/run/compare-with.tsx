import { useId } from "preact/hooks";
import { setQueried } from "../../app/place.ts";
import { useBranches } from "../../app/who.ts";
import { AGAINST, type Against } from "./comparison.ts";

const HINTS: Readonly<Record<Against["kind"], string>> = {
  branch: "name, or empty for the environment itself",
  deployment: "dpl_... or a tag",
  run: "id of a query run",
};

/** The choice of what answers are compared with, which the address has. */
export function CompareWith({ against }: { readonly against: Against | undefined }) {
  const id = useId();
  const branches = useBranches();
  const choose = (kind: string, name: string) => setQueried({ against: kind === "" ? "" : `${kind}:${name}` });
  return (
    <div class="option-texts">
      <label class="field">
        <span>Compare with</span>
        <select value={against?.kind ?? ""} onChange={(event) => choose(event.currentTarget.value, "")}>
          <option value="">Nothing</option>
          {Object.entries(AGAINST).map(([kind, text]) => (
            <option key={kind} value={kind}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {against && (
        <label class="field">
          <span>Which</span>
          <input
            value={against.name}
            list={id}
            placeholder={HINTS[against.kind]}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => choose(against.kind, event.currentTarget.value)}
          />
          <datalist id={id}>{against.kind === "branch" && branches.map(({ name = "" }) => <option key={name} value={name} />)}</datalist>
        </label>
      )}
    </div>
  );
}
