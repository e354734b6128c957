import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface DialogParts {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** Whether the title is for screen readers only. */
  readonly isBare?: boolean;
}

/**
 * A modal dialog: Escape and a click beside it close it, and the focus goes back to where it was.
 */
export function Dialog({ title, onClose, children, isBare = false }: DialogParts) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const own = element.current;
    own?.showModal();
    // Closing gives the focus back; removing the element does not.
    return () => own?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes every modal dialog
    <dialog
      ref={element}
      class={isBare ? "dialog bare" : "dialog"}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <div class="dialog-content">
        {!isBare && (
          <div class="dialog-head">
            <h2>{title}</h2>
            <button type="button" class="quiet" onClick={onClose}>
              Close
            </button>
          </div>
        )}
        {children}
      </div>
    </dialog>
  );
}
