import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { PermissionName } from "../../domain/permissions.ts";
import { Confirm } from "../parts/confirm.tsx";
import { toast } from "./toasts.tsx";
import { useMay } from "./who.ts";

interface ActionParts {
  /** The verb on the buttons. */
  readonly verb: string;
  /** The question, which names what is acted on. */
  readonly question: string;
  /** The permission that it needs; without it there is no button. */
  readonly permission: PermissionName;
  /** A name that has to be typed, for what cannot be undone. */
  readonly typed?: string;
  /** Does it and says what was done. */
  readonly act: () => Promise<string>;
  /** Called after it was done. */
  readonly onDone?: () => void;
  /** What follows from it. */
  readonly children?: ComponentChildren;
}

/** A button for what changes something: it asks, does it, and says that it was done. */
export function Action({ verb, question, permission, typed, act, onDone, children }: ActionParts) {
  const isAsking = useSignal(false);
  if (!useMay(permission)) return null;
  const perform = async () => {
    toast(await act());
    onDone?.();
  };
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        aria-label={`${verb}: ${question.replace(/\?$/, "")}`}
        onClick={() => (isAsking.value = true)}
      >
        {verb}
      </button>
      {isAsking.value && (
        <Confirm
          title={question}
          verb={verb}
          {...(typed !== undefined && { typed })}
          act={perform}
          onClose={() => (isAsking.value = false)}
        >
          {children}
        </Confirm>
      )}
    </>
  );
}
