import type { ComputeCallJson } from "../../../../gen/svc/v1/function_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { enumWord, isGoingOn } from "../run/run-state.ts";
import { State } from "../run/state.tsx";

const LIMIT = 100;
const PREFIX = "COMPUTE_CALL_STATE_";

const COLUMNS: readonly Column<ComputeCallJson>[] = [
  { name: "id", title: "Call", width: "11rem", cell: ({ id = "" }) => <code>{escapeControls(id)}</code> },
  { name: "name", title: "Function", width: "9rem", cell: ({ name = "", version = 0 }) => `${escapeControls(name)}, version ${version}` },
  { name: "state", title: "State", width: "7.5rem", cell: ({ state }) => <State of={state} prefix={PREFIX} /> },
  { name: "enqueued", title: "Enqueued", width: "8rem", cell: ({ enqueuedAt }) => <Time at={enqueuedAt} /> },
  {
    name: "trace",
    title: "Trace",
    width: "8rem",
    cell: ({ traceId: id = "" }) => (
      <a class="name" href={href("trace", { id }, { deployment: "" })}>
        {escapeControls(id)}
      </a>
    ),
  },
  { name: "error", title: "Error", width: "12rem", cell: ({ error: { message = "" } = {} }) => escapeControls(message) },
  {
    name: "cancel",
    title: "",
    width: "7rem",
    cell: ({ id = "", state }) => isGoingOn(enumWord(state, PREFIX)) && <Cancel id={id} />,
  },
];

/** The latest calls that were kept, of one function or of all (an empty name). */
export function KeptCalls({ name }: { readonly name: string }) {
  const command = useCommand();
  const answer = useAnswer("FunctionService/ListFunctionCalls", { name, limit: LIMIT }, environmentScope.value);
  const counted = useAnswer("FunctionService/CountFunctionCalls", { name }, environmentScope.value);
  useLive(["runs"], () => {
    answer.reload();
    counted.reload();
  });
  return (
    <>
      <h2>Kept calls</h2>
      <Command line={command("compute", "calls", "recent", ...(name === "" ? [] : ["--name", name]))} />
      {counted.data && <p class="dim">{counted.data.count ?? 0} in the past hour.</p>}
      <Loading of={answer}>
        {({ calls = [] }) =>
          calls.length === 0 ? (
            <p>No call was submitted.</p>
          ) : (
            <WindowTable label="Kept calls" columns={COLUMNS} rows={calls} keyOf={({ id = "" }) => id} />
          )
        }
      </Loading>
    </>
  );
}

function Cancel({ id }: { readonly id: string }) {
  const act = async () => {
    await call("FunctionService/CancelFunctionCall", { id }, environmentScope.value);
    return `Call ${id} was cancelled.`;
  };
  return <Action verb="Cancel" question={`Cancel call ${id}?`} permission="query.online" act={act} />;
}
