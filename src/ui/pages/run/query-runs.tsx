import type { QueryRunJson } from "../../../../gen/svc/v1/query_run_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { QUERY_RUN_FIELDS } from "../../../domain/query-runs.ts";
import { usePages } from "../../api/pages.ts";
import { now } from "../../app/clock.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href, queried, scope, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Duration, durationText } from "../../parts/duration.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Histogram } from "../../parts/histogram.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Range } from "../../parts/range.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { Time } from "../../parts/time.tsx";
import { rangeText, readRange } from "../../parts/time-range.ts";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { durationMs } from "../define/feature-text.ts";
import { shareText } from "../define/feature-use.ts";
import { latencyBuckets } from "./latency-buckets.ts";
import { searchProblem, withCondition } from "./record-search.ts";
import { RunStatus } from "./run-status.tsx";
import { sinceFlags } from "./since-flags.ts";

const PAGE_SIZE = 100;

const COLUMNS: readonly Column<QueryRunJson>[] = [
  {
    name: "id",
    title: "Run",
    width: "19rem",
    cell: ({ id = "" }) => (
      <a class="name" href={href("queryRun", { id })}>
        {escapeControls(id)}
      </a>
    ),
  },
  { name: "time", title: "Time", width: "11rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: "status", title: "Status", width: "7rem", cell: (run) => <RunStatus run={run} /> },
  { name: "duration", title: "Took", width: "6rem", isNumber: true, cell: ({ latency }) => <Duration ms={durationMs(latency)} /> },
  { name: "errors", title: "Errors", width: "5rem", isNumber: true, cell: ({ errorCount = 0 }) => (errorCount > 0 ? errorCount : "") },
  {
    name: "hits",
    title: "Stored",
    width: "5rem",
    isNumber: true,
    cell: ({ hitShare }) => typeof hitShare === "number" && shareText(hitShare),
  },
  { name: "query", title: "Query", cell: queryText },
];

/** The name of the query, and the row or rows that it asked for. */
function queryText({ primaryKey = "", queryName = "", queryVersion = "", rootNamespace = "", rows = 0 }: QueryRunJson): string {
  const of = `${rootNamespace} ${primaryKey !== "" ? primaryKey : rows > 1 ? `(${rows} rows)` : ""}`;
  return escapeControls(
    [queryName, queryVersion, of]
      .map((part) => part.trim())
      .filter(Boolean)
      .join(" "),
  );
}

/** The queries that ran, newest first. */
export default function QueryRuns() {
  const command = useCommand();
  const search = queried("q");
  const problem = searchProblem(search, QUERY_RUN_FIELDS);
  const range = readRange(queried("range"), now.value);
  const { branch } = scope.value;
  const wanted = problem ? "" : search;
  const request = { search: wanted, branch, pageSize: PAGE_SIZE, ...rangeTimes(range) };
  const pages = usePages(
    "QueryRunService/ListQueryRuns",
    request,
    environmentScope.value,
    ({ queries = [] }) => queries,
    keyOf,
    JSON.stringify([wanted, branch, rangeText(range)]),
  );
  useLive(["queries"], pages.first.reload, range.lastMs !== undefined);
  const errorsOnly = /(^|\s)errors>0(\s|$)/.test(search);
  return (
    <Page title="Query runs" command={command("queries", "list", ...sinceFlags(range), errorsOnly ? "--errors-only" : undefined)}>
      <Range />
      <SearchBox
        label="Search query runs"
        placeholder="name, duration>=10ms, errors>0, plan:, branch:"
        value={search}
        onSearch={(q) => setQueried({ q })}
        problem={problem}
      />
      <label>
        <input
          type="checkbox"
          checked={errorsOnly}
          onChange={(event) => setQueried({ q: withCondition(search, "errors", event.currentTarget.checked ? "errors>0" : "") })}
        />{" "}
        With errors only
      </label>
      <Paged of={pages} things="query runs" empty={<NoRuns isSearched={search !== ""} />}>
        {(runs) => (
          <>
            <Histogram
              label="How long these runs took"
              buckets={latencyBuckets(runs.map(({ latency }) => durationMs(latency)))}
              bound={durationText}
              height={90}
              onChoose={({ from, to }) =>
                setQueried({ q: withCondition(search, "duration", `duration>=${durationText(from)} duration<${durationText(to)}`) })
              }
            />
            <WindowTable label="Query runs" columns={COLUMNS} rows={runs} keyOf={keyOf} />
          </>
        )}
      </Paged>
    </Page>
  );
}

function NoRuns({ isSearched }: { readonly isSearched: boolean }) {
  if (isSearched) return <Empty>No query run of this range fits the search.</Empty>;
  return <Empty command="svc query --in user.id=1 --out user">No query ran in this range. Ask for features:</Empty>;
}

const keyOf = ({ id = "" }: QueryRunJson): string => id;
