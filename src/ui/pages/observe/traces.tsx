import type { TraceJson } from "../../../../gen/svc/v1/trace_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { usePages } from "../../api/pages.ts";
import { now } from "../../app/clock.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href, queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Duration } from "../../parts/duration.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Range } from "../../parts/range.tsx";
import { rangeFlags, rangeTimes } from "../../parts/range-times.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { Time } from "../../parts/time.tsx";
import { rangeText, readRange } from "../../parts/time-range.ts";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { durationMs } from "../define/feature-text.ts";

const PAGE_SIZE = 100;

/** The columns; `longest` is the length of the bar of the longest trace, in milliseconds. */
const columns = (longest: number): readonly Column<TraceJson>[] => [
  {
    name: "id",
    title: "Trace",
    width: "17rem",
    cell: ({ traceId = "" }) => (
      <a class="name" href={href("trace", { id: traceId })}>
        {escapeControls(traceId)}
      </a>
    ),
  },
  { name: "time", title: "Start", width: "10rem", cell: ({ startTime }) => <Time at={startTime} /> },
  {
    name: "root",
    title: "First span, query",
    cell: ({ rootSpan = "", queryName = "" }) => escapeControls([rootSpan, queryName].filter(Boolean).join(", ")),
  },
  { name: "spans", title: "Spans", width: "5rem", isNumber: true, cell: ({ spanCount = 0 }) => spanCount },
  {
    name: "errors",
    title: "Errors",
    width: "5rem",
    isNumber: true,
    cell: ({ errorCount = 0 }) => (errorCount > 0 ? <span class="bad">{errorCount}</span> : ""),
  },
  { name: "took", title: "Took", width: "6rem", isNumber: true, cell: ({ duration }) => <Duration ms={durationMs(duration)} /> },
  {
    name: "bar",
    title: "Compared",
    width: "8rem",
    cell: ({ duration }) => (
      <svg class="trace-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect width={Math.max((durationMs(duration) / longest) * 100, 1)} height="10" />
      </svg>
    ),
  },
];

const keyOf = ({ traceId = "" }: TraceJson): string => traceId;

/** What queries spent their time on, the latest first. */
export default function Traces() {
  const command = useCommand();
  const spanName = queried("span");
  const range = readRange(queried("range"), now.value);
  const request = { spanName, pageSize: PAGE_SIZE, ...rangeTimes(range) };
  const pages = usePages(
    "TraceService/ListTraces",
    request,
    environmentScope.value,
    ({ traces = [] }) => traces,
    keyOf,
    JSON.stringify([spanName, rangeText(range)]),
  );
  useLive(["queries"], pages.first.reload, range.lastMs !== undefined);
  const longest = Math.max(...pages.rows.map(({ duration }) => durationMs(duration)), Number.MIN_VALUE);
  const since = range.lastMs === undefined ? rangeFlags(range, "") : ["--start", `-${rangeText(range)}`];
  const flags = [...since, ...(spanName === "" ? [] : ["--span-name", spanName])];
  return (
    <Page title="Traces" command={command("trace", "list", ...flags)}>
      <Range />
      <SearchBox
        label="Name of a span"
        placeholder="name of a span, * for anything"
        value={spanName}
        onSearch={(span) => setQueried({ span })}
      />
      <Paged
        of={pages}
        things="traces"
        empty={
          spanName === "" ? (
            <Empty command="svc query --in user.id=1 --out user --trace">No trace was kept in this range. Ask with one:</Empty>
          ) : (
            <Empty>No trace of this range has a span of this name.</Empty>
          )
        }
      >
        {(rows) => <WindowTable label="Traces" columns={columns(longest)} rows={rows} keyOf={keyOf} />}
      </Paged>
    </Page>
  );
}
