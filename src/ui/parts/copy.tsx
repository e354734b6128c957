import { useSignal } from "@preact/signals";

/** A button that copies a text and says that it did. `what` names the text for screen readers. */
export function Copy({ text, what = "the command" }: { readonly text: string; readonly what?: string }) {
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
        {said.value === "Copied" ? "Copied" : "Copy"}
      </button>
      <span role="status" class="unseen">
        {said}
      </span>
    </span>
  );
}
