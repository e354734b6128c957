import type { JobJson } from "../../../../gen/svc/v1/job_pb.ts";
import type { OfflineQueryJson } from "../../../../gen/svc/v1/offline_query_pb.ts";
import type { ResolverRunJson } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import type { TaskJson } from "../../../../gen/svc/v1/task_pb.ts";
import type { WorkflowJson } from "../../../../gen/svc/v1/workflow_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import type { Method, Methods } from "../../api/methods.ts";
import { usePages } from "../../api/pages.ts";
import { now } from "../../app/clock.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Duration } from "../../parts/duration.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { enumWord, tookMs } from "./run-state.ts";
import { State } from "./state.tsx";
import { taskTarget } from "./task-target-text.ts";

const PAGE_SIZE = 50;

interface ListParts<M extends Method, Row> {
  readonly method: M;
  readonly request: Methods[M][0];
  readonly rowsOf: (page: Methods[M][1]) => readonly Row[];
  readonly things: string;
  /** The command that makes one. */
  readonly makes: string;
  readonly columns: readonly Column<Row>[];
}

/** Runs of one kind, newest first, kept at the present. */
function RunList<M extends Method, Row extends { readonly id?: string }>({
  method,
  request,
  rowsOf,
  things,
  makes,
  columns,
}: ListParts<M, Row>) {
  const pages = usePages(method, request, environmentScope.value, rowsOf, ({ id = "" }) => id);
  useLive(["runs"], pages.first.reload);
  return (
    <Paged of={pages} things={things} empty={<Empty command={makes}>There are no {things} yet. To begin one:</Empty>}>
      {(rows) => <WindowTable label={things} columns={columns} rows={rows} keyOf={({ id = "" }) => id} />}
    </Paged>
  );
}

const idColumn = <Row extends { readonly id?: string }>(title: string, width = "19rem"): Column<Row> => ({
  name: "id",
  title,
  width,
  cell: ({ id = "" }) => <RunLink id={id} />,
});

/** A link to the page of a run. */
export function RunLink({ id }: { readonly id: string }) {
  return (
    <a href={href("run", { id }, { deployment: "" })} class="name">
      {escapeControls(id)}
    </a>
  );
}

const timeColumns = <
  Row extends { readonly createdAt?: string; readonly startedAt?: string; readonly endedAt?: string },
>(): readonly Column<Row>[] => [
  { name: "created", title: "Begun", width: "9.5rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    name: "took",
    title: "Took",
    width: "5.5rem",
    isNumber: true,
    cell: ({ createdAt, endedAt, startedAt }) => {
      const ms = tookMs(startedAt ?? createdAt, endedAt, now.value);
      return ms === undefined ? "" : <Duration ms={ms} />;
    },
  },
];

const JOBS: readonly Column<JobJson>[] = [
  // Ids of parts of a query end in the part's name.
  idColumn("Job", "19.5rem"),
  { name: "kind", title: "Kind", width: "10.5rem", cell: ({ kind = "" }) => <span title={kind}>{escapeControls(kind)}</span> },
  { name: "state", title: "State", width: "7.5rem", cell: ({ state }) => <State of={state} prefix="JOB_STATE_" /> },
  {
    name: "subject",
    title: "About",
    width: "6rem",
    cell: ({ error = "", progress = "", subject = "" }) => escapeControls(error || progress || subject),
  },
  {
    name: "attempts",
    title: "Attempts",
    width: "4.75rem",
    isNumber: true,
    cell: ({ attempts = 0, maxAttempts = 0 }) => `${attempts} of ${maxAttempts}`,
  },
  ...timeColumns<JobJson>(),
];

const WORKFLOWS: readonly Column<WorkflowJson>[] = [
  idColumn("Workflow"),
  { name: "kind", title: "Cause", width: "8rem", cell: ({ kind }) => enumWord(kind, "WORKFLOW_KIND_") },
  { name: "state", title: "State", width: "7.5rem", cell: ({ status }) => <State of={status} prefix="WORKFLOW_STATUS_" /> },
  { name: "subject", title: "About", width: "14rem", cell: ({ subject = "" }) => escapeControls(subject) },
  ...timeColumns<WorkflowJson>(),
];

const RESOLVER_RUNS: readonly Column<ResolverRunJson>[] = [
  idColumn("Run"),
  { name: "resolver", title: "Resolver", width: "9rem", cell: ({ resolver = "" }) => <code>{escapeControls(resolver)}</code> },
  { name: "state", title: "State", width: "7.5rem", cell: ({ state }) => <State of={state} prefix="RESOLVER_RUN_STATE_" /> },
  { name: "cause", title: "Cause", width: "5rem", cell: ({ cause }) => enumWord(cause, "RESOLVER_RUN_CAUSE_") },
  { name: "rows", title: "Rows", width: "4rem", isNumber: true, cell: ({ rows = "0" }) => rows },
  { name: "failed", title: "Failed", width: "4rem", isNumber: true, cell: ({ failedRows = "0" }) => failedRows },
  ...timeColumns<ResolverRunJson>(),
];

const OFFLINE_QUERIES: readonly Column<OfflineQueryJson>[] = [
  idColumn("Offline query"),
  { name: "state", title: "State", width: "7.5rem", cell: ({ status }) => <State of={status} prefix="OFFLINE_QUERY_STATUS_" /> },
  { name: "name", title: "Name", width: "6rem", cell: ({ queryName = "" }) => escapeControls(queryName) },
  {
    name: "outputs",
    title: "Outputs",
    width: "10rem",
    cell: ({ outputs = [] }) => <code>{outputs.map(escapeControls).join(", ")}</code>,
  },
  {
    name: "rows",
    title: "Rows",
    width: "6rem",
    isNumber: true,
    cell: ({ doneRows = "0", totalRows = "0" }) => `${doneRows} of ${totalRows}`,
  },
  ...timeColumns<OfflineQueryJson>(),
];

const TASKS: readonly Column<TaskJson>[] = [
  idColumn("Task"),
  { name: "target", title: "Target", width: "13.5rem", cell: (task) => <code>{escapeControls(taskTarget(task))}</code> },
  { name: "state", title: "State", width: "7.5rem", cell: ({ state }) => <State of={state} prefix="TASK_STATE_" /> },
  {
    name: "exit",
    title: "Exit",
    width: "3.5rem",
    isNumber: true,
    cell: ({ exitCode }) => (exitCode === undefined ? "" : String(exitCode)),
  },
  {
    name: "attempts",
    title: "Attempts",
    width: "5rem",
    isNumber: true,
    cell: ({ attempts = 0, maxRetries = 0 }) => `${attempts} of ${maxRetries + 1}`,
  },
  ...timeColumns<TaskJson>(),
];

/** Resolvers that run by themselves. */
export const ResolverRuns = () => (
  <RunList
    method="ResolverRunService/ListResolverRuns"
    request={{ pageSize: PAGE_SIZE }}
    rowsOf={({ runs = [] }) => runs}
    things="runs of resolvers"
    makes="svc trigger --resolver NAME"
    columns={RESOLVER_RUNS}
  />
);

/** Queries of many rows. */
export const OfflineQueries = () => (
  <RunList
    method="OfflineQueryService/ListOfflineQueries"
    request={{ pageSize: PAGE_SIZE }}
    rowsOf={({ queries = [] }) => queries}
    things="offline queries"
    makes="svc offline-query --in user.id=1 --out user"
    columns={OFFLINE_QUERIES}
  />
);

/** Scripts and functions that run once. */
export const Tasks = () => (
  <RunList
    method="TaskService/ListTasks"
    request={{ pageSize: PAGE_SIZE }}
    rowsOf={({ tasks = [] }) => tasks}
    things="tasks"
    makes="svc task run scripts/report.py"
    columns={TASKS}
  />
);

/** Graphs of operations. */
export const Workflows = () => (
  <RunList
    method="WorkflowService/ListWorkflows"
    request={{ pageSize: PAGE_SIZE }}
    rowsOf={({ workflows = [] }) => workflows}
    things="workflows"
    makes="svc trigger --resolver NAME"
    columns={WORKFLOWS}
  />
);

/** The queue. */
export const Jobs = () => (
  <RunList
    method="JobService/ListJobs"
    request={{ pageSize: PAGE_SIZE, environment: environmentScope.value.environment }}
    rowsOf={({ jobs = [] }) => jobs}
    things="jobs"
    makes="svc apply"
    columns={JOBS}
  />
);
