import type { DeadLetterJson } from "../../../../gen/svc/v1/stream_pb.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { messageText } from "./stream-text.ts";

const MOST = 50;
/** Of rows with two lines. */
const ROW_HEIGHT = 56;

/** The newest messages that a stream put aside, and why. */
export function DeadLetters({ name }: { readonly name: string }) {
  const command = useCommand();
  const letters = useAnswer("StreamService/ListDeadLetters", { name, pageSize: MOST }, environmentScope.value);
  useLive(["streams", "metrics"], letters.reload);
  return (
    <>
      <Command line={command("streams", "dead-letters", "list", name)} />
      <Loading of={letters}>
        {({ deadLetters = [] }) => (
          <WindowTable label="Dead letters" columns={COLUMNS} rows={deadLetters} rowHeight={ROW_HEIGHT} keyOf={({ id = "" }) => id} />
        )}
      </Loading>
    </>
  );
}

const COLUMNS: readonly Column<DeadLetterJson>[] = [
  { name: "failed", title: "Failed", width: "8rem", cell: ({ failedAt }) => failedAt !== undefined && <Time at={failedAt} /> },
  { name: "place", title: "Partition, offset", width: "8rem", cell: ({ offset = "0", partition = 0 }) => `${partition}, ${offset}` },
  { name: "stage", title: "Stage", width: "6rem", cell: ({ stage = "" }) => stage },
  { name: "reason", title: "Reason", width: "20rem", cell: ({ reason = "" }) => <span title={reason}>{visibleLines(reason)}</span> },
  { name: "message", title: "Message", width: "18rem", cell: ({ value }) => <code>{visibleLines(messageText(value))}</code> },
];
