import type { QueryRunJson } from "../../../../gen/svc/v1/query_run_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Duration } from "../../parts/duration.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Status, type Tone } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

const LATEST = 20;
const STATES: Readonly<Record<string, readonly [word: string, tone: Tone]>> = {
  QUERY_RUN_STATUS_OK: ["ok", "good"],
  QUERY_RUN_STATUS_PARTIAL: ["with errors", "warn"],
  QUERY_RUN_STATUS_FAILED: ["failed", "bad"],
};

const COLUMNS: readonly Column<QueryRunJson>[] = [
  {
    name: "id",
    title: "Query",
    width: "22rem",
    cell: ({ id = "" }) => (
      <a href={href("queryRun", { id }, { deployment: "" })} class="name">
        {escapeControls(id)}
      </a>
    ),
  },
  { name: "name", title: "Name", cell: ({ queryName = "" }) => escapeControls(queryName) },
  { name: "state", title: "Answer", width: "8rem", cell: ({ status }) => <State status={status ?? ""} /> },
  {
    name: "latency",
    title: "Time",
    width: "6rem",
    isNumber: true,
    cell: ({ latency = "0s" }) => <Duration ms={Number.parseFloat(latency) * 1000} />,
  },
  { name: "created", title: "Asked", width: "11rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The latest queries that a deployment answered. */
export function LatestQueries({ deploymentId }: { readonly deploymentId: string }) {
  const request = { search: `deployment:${deploymentId}`, pageSize: LATEST };
  const answer = useAnswer("QueryRunService/ListQueryRuns", request, environmentScope.value);
  useLive(["queries"], answer.reload);
  return (
    <>
      <h2>Latest queries</h2>
      <Loading of={answer}>
        {({ queries = [] }) =>
          queries.length === 0 ? (
            <p class="dim">None that are kept.</p>
          ) : (
            <WindowTable label="Latest queries" columns={COLUMNS} rows={queries} keyOf={({ id = "" }) => id} />
          )
        }
      </Loading>
    </>
  );
}

function State({ status }: { readonly status: string }) {
  const [word, tone] = STATES[status] ?? ["", "dim"];
  return <Status tone={tone}>{word}</Status>;
}
