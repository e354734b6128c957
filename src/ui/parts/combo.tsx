import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { escapeControls } from "../../domain/name.ts";

interface ComboParts {
  readonly label: string;
  readonly value: string;
  /** What can be chosen; anything else can be typed too. */
  readonly options: readonly string[];
  readonly onChoose: (value: string) => void;
  readonly placeholder?: string;
}

const MOST_SHOWN = 20;

/** A field with completion: arrows choose, Enter takes, Escape closes. */
export function Combo({ label, value, options, onChoose, placeholder = "" }: ComboParts) {
  const id = useId();
  const typed = useSignal(value);
  const isOpen = useSignal(false);
  const chosen = useSignal(-1);
  const wanted = typed.value.toLowerCase();
  const fitting = options.filter((option) => option.toLowerCase().includes(wanted)).slice(0, MOST_SHOWN);
  const shown = isOpen.value ? fitting : [];
  const choose = (option: string) => {
    typed.value = option;
    isOpen.value = false;
    onChoose(option);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      isOpen.value = true;
      if (fitting.length > 0) chosen.value = (chosen.value + step + fitting.length) % fitting.length;
    } else if (event.key === "Enter") choose(shown[chosen.value] ?? typed.value);
    else if (event.key === "Escape" && isOpen.value) isOpen.value = false;
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="combo">
      <input
        role="combobox"
        aria-label={label}
        aria-expanded={shown.length > 0}
        aria-controls={shown.length > 0 ? `${id}-list` : undefined}
        aria-activedescendant={shown[chosen.value] === undefined ? undefined : `${id}-${chosen.value}`}
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        value={typed}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          chosen.value = -1;
          isOpen.value = true;
        }}
        onBlur={() => {
          isOpen.value = false;
        }}
        onKeyDown={onKeyDown}
      />
      {shown.length > 0 && (
        <div role="listbox" id={`${id}-list`} aria-label={`${label}: what fits`} class="combo-list">
          {shown.map((option, at) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
            <div
              key={option}
              role="option"
              id={`${id}-${at}`}
              aria-selected={at === chosen.value}
              onPointerDown={(event) => {
                event.preventDefault();
                choose(option);
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
