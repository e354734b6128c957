import { useCallback } from "preact/hooks";
import type { QueryErrorGroupJson } from "../../../../gen/svc/v1/query_error_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { QUERY_ERROR_FIELDS } from "../../../domain/query-errors.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { usePages } from "../../api/pages.ts";
import { now } from "../../app/clock.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href, queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Range } from "../../parts/range.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { Time } from "../../parts/time.tsx";
import { readRange } from "../../parts/time-range.ts";
import { ResolverLink } from "../run/answer.tsx";
import { searchProblem } from "../run/record-search.ts";

const PAGE_SIZE = 50;
const MINUTE_MS = 60_000;

/** The errors of queries and runs in groups of those that say the same, the largest first. */
export default function Errors() {
  const command = useCommand();
  const search = queried("q");
  const problem = searchProblem(search, QUERY_ERROR_FIELDS);
  const { from, lastMs, to } = readRange(queried("range"), Math.floor(now.value / MINUTE_MS) * MINUTE_MS);
  const filter = {
    search: problem ? "" : search,
    startTime: new Date(from).toISOString(),
    ...(lastMs === undefined ? { endTime: new Date(to).toISOString() } : {}),
  };
  const pages = usePages("QueryErrorService/AggregateQueryErrors", { filter, pageSize: PAGE_SIZE }, environmentScope.value);
  useLive(useCallback(pages.first.reload, [JSON.stringify(filter)]), lastMs !== undefined);
  const groups = pages.all.flatMap((page) => page.groups ?? []);
  return (
    <Page title="Errors" command={command("errors", "aggregate")}>
      <Range />
      <SearchBox
        label="Search errors"
        placeholder="message, code: resolver: feature: query_name:"
        value={search}
        onSearch={(q) => setQueried({ q })}
        problem={problem}
      />
      <Loading of={pages.first} lines={8}>
        {() =>
          groups.length === 0 ? (
            <Empty>
              {search === "" ? "No errors since " : "No error fits the search since "}
              <Time at={new Date(from).toISOString()} />.
            </Empty>
          ) : (
            <>
              <ul class="query-errors">
                {groups.map((group) => (
                  <Group key={`${group.code} ${group.pattern}`} group={group} />
                ))}
              </ul>
              {pages.error && <Failed error={pages.error} />}
              <Pager
                things="groups of errors"
                shown={groups.length}
                hasMore={pages.hasMore}
                isLoading={pages.isLoading}
                onMore={() => void pages.more()}
              />
            </>
          )
        }
      </Loading>
    </Page>
  );
}

function Group({ group }: { readonly group: QueryErrorGroupJson }) {
  const { code, count = "0", features = [], firstSeenAt, lastSeenAt, operations = "0", pattern = "", resolvers = [], sample } = group;
  const { exception, message = "", operationId = "", operationKind = "" } = sample ?? {};
  const isQuery = operationKind === "query" || operationKind === "bulk_query";
  return (
    <li class="query-error">
      <p>
        <strong class="bad">{(code ?? "").replace("ERROR_CODE_", "").toLowerCase().replaceAll("_", " ")}</strong>{" "}
        <span class="figure">{count}</span> times in <span class="figure">{operations}</span> operations, <Time at={firstSeenAt} /> to{" "}
        <Time at={lastSeenAt} />
      </p>
      <p>{visibleLines(pattern)}</p>
      <p class="dim">
        {resolvers.map((fqn) => (
          <span key={fqn}>
            <ResolverLink fqn={fqn} />{" "}
          </span>
        ))}
        {features.map((path) => escapeControls(readableName(path))).join(", ")}
      </p>
      <details>
        <summary>The last one</summary>
        <p>{visibleLines(message)}</p>
        {operationId !== "" && isQuery && (
          <p>
            Query run{" "}
            <a class="name" href={href("queryRun", { id: operationId })}>
              {escapeControls(operationId)}
            </a>
          </p>
        )}
        {exception?.stacktrace && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reachable by keyboard
          <pre class="block" tabIndex={0}>
            {visibleLines(exception.stacktrace.trimEnd())}
          </pre>
        )}
      </details>
    </li>
  );
}
