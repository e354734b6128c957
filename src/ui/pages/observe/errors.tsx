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
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Range } from "../../parts/range.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { Time } from "../../parts/time.tsx";
import { rangeText, readRange } from "../../parts/time-range.ts";
import { localText } from "../../parts/time-text.ts";
import { ResolverLink } from "../run/answer.tsx";
import { searchProblem } from "../run/record-search.ts";
import { sinceFlags } from "../run/since-flags.ts";

const PAGE_SIZE = 50;
const keyOf = ({ code, pattern }: QueryErrorGroupJson): string => JSON.stringify([code, pattern]);

/** The errors of queries and runs in groups of those that say the same, the largest first. */
export default function Errors() {
  const command = useCommand();
  const search = queried("q");
  const problem = searchProblem(search, QUERY_ERROR_FIELDS);
  const range = readRange(queried("range"), now.value);
  const wanted = problem ? "" : search;
  const filter = { search: wanted, ...rangeTimes(range) };
  const pages = usePages(
    "QueryErrorService/AggregateQueryErrors",
    { filter, pageSize: PAGE_SIZE },
    environmentScope.value,
    ({ groups = [] }) => groups,
    keyOf,
    JSON.stringify([wanted, rangeText(range)]),
  );
  useLive(["queries"], pages.first.reload, range.lastMs !== undefined);
  return (
    <Page title="Errors" command={command("errors", "aggregate", ...sinceFlags(range))}>
      <Range />
      <SearchBox
        label="Search errors"
        placeholder="message, code: resolver: feature: query_name:"
        value={search}
        onSearch={(q) => setQueried({ q })}
        problem={problem}
      />
      <Paged
        of={pages}
        things="groups of errors"
        empty={
          <Empty>
            {search === "" ? "No errors since " : "No error fits the search since "}
            {localText(Date.parse(filter.startTime ?? ""))}.
          </Empty>
        }
      >
        {(groups) => (
          <ul class="query-errors">
            {groups.map((group) => (
              <Group key={keyOf(group)} group={group} />
            ))}
          </ul>
        )}
      </Paged>
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
