import { useSignal } from "@preact/signals";
import { escapeControls } from "../../../domain/name.ts";
import { CompletedField } from "../../parts/completed-field.tsx";

interface OutputParts {
  readonly outputs: readonly string[];
  readonly onChange: (outputs: readonly string[]) => void;
  readonly complete: (typed: string) => readonly string[];
  /** Whether no feature or namespace has this name, as far as the page knows. */
  readonly isUnknown: (name: string) => boolean;
  /** What is answered when nothing is asked for. */
  readonly whenEmpty: string;
}

/** The outputs, and a field that adds one with Enter or a comma. What stands in it counts too. */
export function OutputField({ outputs, onChange, complete, isUnknown, whenEmpty }: OutputParts) {
  // The last output is the one that is being typed; an empty one is none.
  const last = outputs.at(-1) ?? "";
  const isAdding = useSignal(false);
  const typed = isAdding.value && outputs.length > 0 ? last : "";
  const kept = isAdding.value ? outputs.slice(0, -1) : outputs;
  const type = (text: string) => {
    const words = text.split(",").map((word) => word.trim());
    const rest = words.at(-1) ?? "";
    isAdding.value = rest !== "";
    onChange([...new Set([...kept, ...words.slice(0, -1).filter(Boolean)]), ...(rest === "" ? [] : [rest])]);
  };
  const take = (text: string) => {
    isAdding.value = false;
    onChange([...new Set([...kept, ...(text.trim() === "" ? [] : [text.trim()])])]);
  };
  return (
    <fieldset class="pairs">
      <legend>Outputs</legend>
      {kept.length > 0 && (
        <ul class="chips">
          {kept.map((output, at) => (
            <li key={output} class={isUnknown(output) ? "badge warn" : "badge"}>
              <span class="name">{escapeControls(output)}</span>
              {isUnknown(output) && " unknown"}
              <button
                type="button"
                class="quiet"
                aria-label={`Remove output ${escapeControls(output)}`}
                onClick={() => onChange(outputs.toSpliced(at, 1))}
              >
                {"\u00d7"}
              </button>
            </li>
          ))}
        </ul>
      )}
      <CompletedField
        label="Output"
        value={typed}
        complete={complete}
        onType={type}
        onTake={take}
        placeholder={kept.length === 0 ? whenEmpty : ""}
      />
    </fieldset>
  );
}
