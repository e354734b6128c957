import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { escapeControls } from "../../domain/name.ts";

interface FieldParts {
  readonly label: string;
  readonly value: string;
  /** What a text could become, best first. */
  readonly complete: (typed: string) => readonly string[];
  /** Called with every change of the text. */
  readonly onType: (text: string) => void;
  /** Called with a text that was chosen, or ended with Enter. */
  readonly onTake?: (text: string) => void;
  readonly placeholder?: string;
  readonly isInvalid?: boolean;
}

/**
 * A field whose text is completed while it is typed: arrows choose, Enter and Tab take what is
 * chosen, Escape closes. Unlike a Combo, what is typed counts at once, and what is offered follows
 * from it.
 */
export function CompletedField({ label, value, complete, onType, onTake, placeholder = "", isInvalid = false }: FieldParts) {
  const id = useId();
  const isOpen = useSignal(false);
  const chosen = useSignal(-1);
  const offered = isOpen.value ? complete(value).filter((one) => one !== value) : [];
  const take = (text: string) => {
    isOpen.value = false;
    chosen.value = -1;
    onType(text);
    onTake?.(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const option = offered[chosen.value];
    if (step !== undefined) {
      isOpen.value = true;
      const count = offered.length;
      if (count > 0) chosen.value = chosen.value < 0 && step < 0 ? count - 1 : (chosen.value + step + count) % count;
    } else if (event.key === "Enter" && (option !== undefined || onTake)) take(option ?? value);
    else if (event.key === "Tab" && option !== undefined) return take(option);
    else if (event.key === "Escape" && offered.length > 0) isOpen.value = false;
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="combo">
      <input
        role="combobox"
        aria-label={label}
        aria-expanded={offered.length > 0}
        aria-controls={offered.length > 0 ? `${id}-list` : undefined}
        aria-activedescendant={offered[chosen.value] === undefined ? undefined : `${id}-${chosen.value}`}
        aria-autocomplete="list"
        aria-invalid={isInvalid}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        value={value}
        onInput={(event) => {
          chosen.value = -1;
          isOpen.value = true;
          onType(event.currentTarget.value);
        }}
        onBlur={() => {
          isOpen.value = false;
          chosen.value = -1;
        }}
        onKeyDown={onKeyDown}
      />
      {offered.length > 0 && (
        <div role="listbox" id={`${id}-list`} aria-label={`${label}: what fits`} class="combo-list">
          {offered.map((option, at) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
            <div
              key={option}
              role="option"
              id={`${id}-${at}`}
              aria-selected={at === chosen.value}
              onPointerDown={(event) => {
                event.preventDefault();
                take(option);
              }}
            >
              {escapeControls(option)}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
