import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { escapeControls } from "../../domain/name.ts";
import { CallError } from "../api/call.ts";
import { Dialog } from "./dialog.tsx";
import { Failed } from "./failed.tsx";

interface ConfirmParts {
  /** The question, which names what is acted on. */
  readonly title: string;
  /** The verb on the button. */
  readonly verb: string;
  /** A name that has to be typed, for what cannot be undone. */
  readonly typed?: string;
  /** Does it; a rejection with CallError is shown, and the dialog stays. */
  readonly act: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

/** Asks before something is done. */
export function Confirm({ title, verb, typed, act, onClose, children }: ConfirmParts) {
  const given = useSignal("");
  const isBusy = useSignal(false);
  const error = useSignal<CallError | undefined>(undefined);
  const submit = async (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    error.value = undefined;
    try {
      await act();
      onClose();
    } catch (thrown) {
      error.value = thrown instanceof CallError ? thrown : new CallError("unknown", String(thrown));
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        {children}
        {typed !== undefined && (
          <label class="field">
            <span>
              Type <code>{escapeControls(typed)}</code> to go on
            </span>
            <input value={given} autocomplete="off" onInput={(event) => (given.value = event.currentTarget.value)} />
          </label>
        )}
        {error.value && <Failed error={error.value} />}
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={typed === undefined ? "primary" : "danger"}
            disabled={isBusy.value || (typed !== undefined && given.value !== typed)}
          >
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
