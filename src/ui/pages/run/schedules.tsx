import type { ScheduledResolverJson } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import type { ScheduledQueryStandingJson } from "../../../../gen/svc/v1/scheduled_query_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { go, href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { Progress } from "./incremental-progress.tsx";

/** What runs by a schedule: resolvers and offline queries of the live deployment. */
export default function Schedules() {
  const command = useCommand();
  const resolvers = useAnswer("ResolverRunService/ListScheduledResolvers", {}, environmentScope.value);
  const queries = useAnswer("ScheduledQueryService/ListScheduledQueries", {}, environmentScope.value);
  const look = () => {
    resolvers.reload();
    queries.reload();
  };
  useLive(["schedules"], look);
  const isBare = resolvers.error?.code === "failed_precondition" || queries.error?.code === "failed_precondition";
  if (isBare)
    return (
      <Page title="Schedules" command={command("scheduled-resolver", "list")}>
        <Empty command="svc apply">Nothing is deployed here yet. Deploy a project:</Empty>
      </Page>
    );
  return (
    <Page title="Schedules" command={command("scheduled-resolver", "list")}>
      <h2>Resolvers</h2>
      <Loading of={resolvers}>
        {({ resolvers: rows = [] }) =>
          rows.length === 0 ? (
            <Empty>No resolver runs by a schedule. One does with @online(cron="1h"), or @offline(cron="30 2 * * *").</Empty>
          ) : (
            <WindowTable label="Resolvers" columns={RESOLVERS} rows={rows} keyOf={({ resolver = "" }) => resolver} />
          )
        }
      </Loading>
      <h2>Queries</h2>
      <Command line={command("scheduled-query", "list")} />
      <Loading of={queries}>
        {({ scheduledQueries: rows = [] }) =>
          rows.length === 0 ? (
            <Empty>No query runs by a schedule. One does with ScheduledQuery(name="nightly", schedule="30 2 * * *", output=[...]).</Empty>
          ) : (
            <WindowTable label="Queries" columns={QUERIES} rows={rows} keyOf={({ name = "" }) => name} />
          )
        }
      </Loading>
    </Page>
  );
}

const RESOLVERS: readonly Column<ScheduledResolverJson>[] = [
  { name: "resolver", title: "Resolver", width: "12rem", cell: ({ resolver = "" }) => <code>{escapeControls(resolver)}</code> },
  { name: "schedule", title: "Schedule", width: "9rem", cell: ({ schedule = "" }) => <code>{escapeControls(schedule)}</code> },
  { name: "rows", title: "For", width: "12rem", cell: ({ filter = "", sample = "" }) => escapeControls(filter || sample || "all rows") },
  { name: "last", title: "Last", width: "11rem", cell: ({ lastRunAt }) => <Time at={lastRunAt} /> },
  { name: "next", title: "Next", width: "11rem", cell: ({ nextRunAt }) => <Time at={nextRunAt} /> },
  { name: "run", title: "Actions", width: "7rem", cell: ({ resolver = "" }) => <RunResolver resolver={resolver} /> },
];

const QUERIES: readonly Column<ScheduledQueryStandingJson>[] = [
  { name: "name", title: "Query", width: "12rem", cell: ({ name = "" }) => <code>{escapeControls(name)}</code> },
  { name: "schedule", title: "Schedule", width: "9rem", cell: ({ schedule = "" }) => <code>{escapeControls(schedule)}</code> },
  { name: "outputs", title: "Outputs", width: "16rem", cell: ({ outputs = [] }) => <code>{outputs.map(escapeControls).join(", ")}</code> },
  { name: "last", title: "Last", width: "11rem", cell: ({ lastRunAt }) => <Time at={lastRunAt} /> },
  { name: "next", title: "Next", width: "11rem", cell: ({ nextRunAt }) => <Time at={nextRunAt} /> },
  {
    name: "run",
    title: "Actions",
    width: "13rem",
    cell: ({ incrementalResolvers = [], name = "" }) => (
      <span class="actions">
        <RunQuery name={name} />
        {incrementalResolvers.length > 0 && <Progress name={name} />}
      </span>
    ),
  },
];

function RunResolver({ resolver }: { readonly resolver: string }) {
  const trigger = async () => {
    const { run } = await call("ResolverRunService/TriggerResolver", { resolver }, environmentScope.value);
    if (run?.id) go(href("run", { id: run.id }));
    return `${resolver} runs.`;
  };
  return (
    <Action verb="Run now" question={`Run ${escapeControls(resolver)} now?`} permission="deploy" act={trigger}>
      <p>It computes its features for every row that it is for, and stores the values. Its schedule stays.</p>
    </Action>
  );
}

function RunQuery({ name }: { readonly name: string }) {
  const trigger = async () => {
    const { id } = await call("ScheduledQueryService/TriggerScheduledQuery", { name }, environmentScope.value);
    if (id) go(href("run", { id }));
    return `${name} runs.`;
  };
  return (
    <Action verb="Run now" question={`Run ${escapeControls(name)} now?`} permission="deploy" act={trigger}>
      <p>It becomes an offline query of its own. Its schedule stays.</p>
    </Action>
  );
}
