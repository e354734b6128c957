import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { PermissionName } from "../../domain/permissions.ts";
import { Command } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { useCommand } from "./command.ts";
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
  /** The words of the command that does the same. */
  readonly words?: readonly (string | undefined)[];
  /** Does it and says what was done. */
  readonly act: () => Promise<string>;
  /** Called after it was done. */
  readonly onDone?: () => void;
  /** What follows from it. */
  readonly children?: ComponentChildren;
}

/** A button for what changes something: it asks, does it, and says that it was done. */
export function Action({ verb, question, permission, typed, words, act, onDone, children }: ActionParts) {
  const command = useCommand();
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
          {words && <Command line={command(...words)} />}
        </Confirm>
      )}
    </>
  );
}
