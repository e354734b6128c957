import { signal } from "@preact/signals";
import { visibleLines } from "../../domain/visible.ts";

interface ToastMessage {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

/** Milliseconds that a message of success stays; a failure stays until it is closed. */
const STAYS_MS = 6_000;
const toasts = signal<readonly ToastMessage[]>([]);
let count = 0;

/** Says what happened, in a corner of the page. */
export function toast(text: string, tone: ToastMessage["tone"] = "good"): void {
  const id = ++count;
  toasts.value = [...toasts.value.slice(-3), { id, text, tone }];
  if (tone === "good") setTimeout(() => close(id), STAYS_MS);
}

function close(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** The messages of now. */
export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, text, tone }) => (
        <div key={id} class={`toast ${tone}`}>
          <span>{visibleLines(text)}</span>
          <button type="button" class="quiet" onClick={() => close(id)}>
            Close
          </button>
        </div>
      ))}
    </div>
  );
}
