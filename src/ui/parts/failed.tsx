import { visibleLines } from "../../domain/visible.ts";
import type { CallError } from "../api/call.ts";

/** A call that failed: what happened, what to do next, and the way to try again. */
export function Failed({ error, onRetry }: { readonly error: CallError; readonly onRetry?: () => void }) {
  return (
    <div class="failed" role="alert">
      <p>
        <strong>{visibleLines(error.message)}</strong> {visibleLines(error.hint)}
      </p>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
