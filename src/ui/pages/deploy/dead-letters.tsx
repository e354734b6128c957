import type { DeadLetterJson } from "../../../../gen/svc/v1/stream_pb.ts";
import { useAnswer } from "../../api/load.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { Value } from "../../parts/values.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { messageText } from "./stream-text.ts";

const MOST = 50;

/** The newest messages that a stream put aside, and why. */
export function DeadLetters({ name }: { readonly name: string }) {
  const letters = useAnswer("StreamService/ListDeadLetters", { name, pageSize: MOST }, environmentScope.value);
  useLive(["streams", "metrics"], letters.reload);
  return (
    <Loading of={letters}>
      {({ deadLetters = [] }) => <WindowTable label="Dead letters" columns={COLUMNS} rows={deadLetters} keyOf={({ id = "" }) => id} />}
    </Loading>
  );
}

const COLUMNS: readonly Column<DeadLetterJson>[] = [
  { name: "failed", title: "Failed", width: "8rem", cell: ({ failedAt }) => failedAt !== undefined && <Time at={failedAt} /> },
  { name: "place", title: "Partition, offset", width: "8rem", cell: ({ offset = "0", partition = 0 }) => `${partition}, ${offset}` },
  { name: "stage", title: "Stage", width: "6rem", cell: ({ stage = "" }) => stage },
  { name: "reason", title: "Reason", width: "20rem", cell: ({ reason = "" }) => <Wrapped text={reason} /> },
  { name: "message", title: "Message", width: "18rem", cell: ({ value }) => <Wrapped text={messageText(value)} /> },
];

/** A text that is read whole, over as many lines as it needs. */
function Wrapped({ text }: { readonly text: string }) {
  return (
    <span class="wrapped">
      <Value value={text} />
    </span>
  );
}
