import type { ComponentChildren } from "preact";
import type { ScheduledResolverJson } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import type { ScheduledQueryStandingJson } from "../../../../gen/svc/v1/scheduled_query_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { ResolverLink } from "./answer.tsx";
import { Progress } from "./incremental-progress.tsx";
import { NextRuns } from "./next-runs.tsx";
import { PauseQuery, PauseResolver, RunQuery, RunResolver } from "./schedule-actions.tsx";
import { QueryOutcomes, ResolverOutcomes } from "./schedule-runs.tsx";

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
            <WindowTable
              label="Resolvers"
              columns={resolverColumns(resolvers.reload)}
              rows={rows}
              rowHeight={ROW_HEIGHT}
              keyOf={({ resolver = "" }) => resolver}
            />
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
            <WindowTable
              label="Queries"
              columns={queryColumns(queries.reload)}
              rows={rows}
              rowHeight={ROW_HEIGHT}
              keyOf={({ name = "" }) => name}
            />
          )
        }
      </Loading>
    </Page>
  );
}

/** Of rows with three times. */
const ROW_HEIGHT = 80;

interface Standing {
  readonly lastRunAt?: string;
  readonly nextRunsAt?: string[];
  readonly paused?: boolean;
  readonly schedule?: string;
}

/** The columns that everything with a schedule has. */
function columnsOf<Row extends Standing>(parts: {
  readonly title: string;
  readonly name: (row: Row) => ComponentChildren;
  /** What it is about, below its name. */
  readonly about: (row: Row) => string;
  readonly outcomes: (row: Row) => ComponentChildren;
  readonly actions: (row: Row) => ComponentChildren;
}): readonly Column<Row>[] {
  return [
    {
      name: "name",
      title: parts.title,
      width: "12rem",
      cell: (row) => (
        <>
          {parts.name(row)}
          <br />
          <span class="dim">{escapeControls(parts.about(row))}</span>
        </>
      ),
    },
    { name: "schedule", title: "Schedule", width: "7rem", cell: ({ schedule = "" }) => <code>{escapeControls(schedule)}</code> },
    {
      name: "runs",
      title: "Last 30 runs",
      width: "11rem",
      cell: (row) => (
        <>
          {parts.outcomes(row)}
          {row.lastRunAt !== undefined && (
            <>
              <br />
              last <Time at={row.lastRunAt} />
            </>
          )}
        </>
      ),
    },
    {
      name: "next",
      title: "Next, local time",
      width: "11rem",
      cell: ({ nextRunsAt, paused }) => <NextRuns of={{ paused, times: nextRunsAt }} />,
    },
    {
      name: "utc",
      title: "Next, UTC",
      width: "11rem",
      cell: ({ nextRunsAt, paused }) => <NextRuns of={{ paused, times: nextRunsAt }} isUtc />,
    },
    { name: "run", title: "Actions", width: "11.5rem", cell: (row) => <span class="actions">{parts.actions(row)}</span> },
  ];
}

const resolverColumns = (onDone: () => void) =>
  columnsOf<ScheduledResolverJson>({
    title: "Resolver",
    name: ({ resolver = "" }) => <ResolverLink fqn={resolver} />,
    about: ({ filter = "", sample = "" }) => filter || sample || "all rows",
    outcomes: ({ resolver = "" }) => <ResolverOutcomes resolver={resolver} />,
    actions: ({ paused = false, resolver = "" }) => (
      <>
        <RunResolver resolver={resolver} />
        <PauseResolver {...{ resolver, paused, onDone }} />
      </>
    ),
  });

const queryColumns = (onDone: () => void) =>
  columnsOf<ScheduledQueryStandingJson>({
    title: "Query",
    name: ({ name = "" }) => <code>{escapeControls(name)}</code>,
    about: ({ outputs = [] }) => outputs.join(", "),
    outcomes: ({ name = "" }) => <QueryOutcomes name={name} />,
    actions: ({ incrementalResolvers = [], name = "", paused = false }) => (
      <>
        <RunQuery name={name} />
        <PauseQuery {...{ name, paused, onDone }} />
        {incrementalResolvers.length > 0 && <Progress name={name} />}
      </>
    ),
  });
