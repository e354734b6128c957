import { useSignal } from "@preact/signals";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";

/** How far a scheduled query that runs incrementally has read, in a dialog. */
export function Progress({ name }: { readonly name: string }) {
  const isOpen = useSignal(false);
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => (isOpen.value = true)}>
        Progress
      </button>
      {isOpen.value && <ProgressDialog name={name} onClose={() => (isOpen.value = false)} />}
    </>
  );
}

function ProgressDialog({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const command = useCommand();
  const subject = { scheduledQueryName: name };
  const answer = useAnswer("IncrementalService/GetIncrementalProgress", { subject }, environmentScope.value);
  const drop = async () => {
    await call("IncrementalService/DropIncrementalProgress", { subject }, environmentScope.value);
    return `The next run of ${name} reads everything.`;
  };
  return (
    <Dialog title={`Progress of ${escapeControls(name)}`} onClose={onClose}>
      <Loading of={answer}>
        {({ progress: { lastExecutionAt, maxIngestedAt } = {} }) => (
          <Facts
            facts={[
              ["Read up to", <Time key="" at={maxIngestedAt} />],
              ["Last whole run", <Time key="" at={lastExecutionAt} />],
            ]}
          />
        )}
      </Loading>
      <Command line={command("incremental", "status", "--scheduled-query", name)} />
      <div class="dialog-actions">
        <Action
          verb="Forget"
          question={`Forget the progress of ${escapeControls(name)}?`}
          permission="deploy"
          act={drop}
          onDone={answer.reload}
        >
          <p>The next run reads everything.</p>
        </Action>
      </div>
    </Dialog>
  );
}
