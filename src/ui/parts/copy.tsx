import { useSignal } from "@preact/signals";

interface CopyParts {
  readonly text: string;
  /** Names the text for screen readers. */
  readonly what?: string;
  /** What stands on the button. */
  readonly label?: string;
}

/** A button that copies a text and says that it did. */
export function Copy({ text, what = "the command", label = "Copy" }: CopyParts) {
  const said = useSignal("");
  const copy = async () => {
    said.value = await navigator.clipboard.writeText(text).then(
      () => "Copied",
      () => "Not copied: the browser refused",
    );
  };
  return (
    <span class="copy">
      <button type="button" class="quiet" aria-label={`Copy ${what}`} onClick={() => void copy()}>
        {said.value === "Copied" ? said : label}
      </button>
      <span role="status" class="unseen">
        {said}
      </span>
    </span>
  );
}
