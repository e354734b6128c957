import type { MetricExemplarJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { useAnswer } from "../../api/load.ts";
import { useSteady } from "../../api/steady.ts";
import { now } from "../../app/clock.ts";
import { useCommand } from "../../app/command.ts";
import { go, href, queried, scope } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Duration, durationText } from "../../parts/duration.tsx";
import { Histogram } from "../../parts/histogram.tsx";
import { Loading } from "../../parts/loading.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { Time } from "../../parts/time.tsx";
import { readRange } from "../../parts/time-range.ts";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { sinceFlags } from "../run/since-flags.ts";
import { bucketOfMs, millisecondsOf, slowestFirst, tracedIn } from "./latency-distribution.ts";
import { resolverMetric } from "./metric-expressions.ts";

/** Calls that are listed. */
const MOST_SLOWEST = 10;

/** How long a resolver's calls took in the page's range, and the slowest that were traced. */
export function ResolverLatency({ fqn }: { readonly fqn: string }) {
  const command = useCommand();
  const range = readRange(queried("range"), now.value);
  const expression = resolverMetric("p99", "resolver.latency", fqn, scope.value.branch);
  const request = { expression, buckets: true, ...rangeTimes(range) };
  const answer = useSteady(useAnswer("MetricService/QueryMetric", request, environmentScope.value));
  return (
    <Loading of={answer} lines={4}>
      {({ series = [] }) => {
        const [{ buckets = [], exemplars = [] } = {}] = series;
        const slowest = slowestFirst(exemplars).slice(0, MOST_SLOWEST);
        return (
          <>
            <h2>How long calls took</h2>
            <Command line={command("metrics", "query", expression, "--buckets", ...sinceFlags(range))} />
            {buckets.length === 0 ? (
              <p class="dim">Nothing called it in this range.</p>
            ) : (
              <Histogram
                label="How long calls took"
                buckets={buckets.map(bucketOfMs)}
                bound={durationText}
                onChoose={(bucket) => {
                  const traced = tracedIn(exemplars, bucket);
                  if (traced?.traceId) go(href("trace", { id: traced.traceId }));
                }}
              />
            )}
            <h2>Slowest calls</h2>
            {slowest.length === 0 ? (
              <p class="dim">Of the calls in this range none was traced.</p>
            ) : (
              <WindowTable
                label="Slowest calls"
                columns={COLUMNS}
                rows={slowest}
                keyOf={({ traceId = "", value }) => `${traceId} ${value}`}
              />
            )}
          </>
        );
      }}
    </Loading>
  );
}

const COLUMNS: readonly Column<MetricExemplarJson>[] = [
  {
    name: "trace",
    title: "Trace",
    width: "17rem",
    cell: ({ traceId = "" }) => (
      <a class="name" href={href("trace", { id: traceId })}>
        {traceId}
      </a>
    ),
  },
  { name: "took", title: "Took", width: "6rem", isNumber: true, cell: (one) => <Duration ms={millisecondsOf(one.value)} /> },
  { name: "time", title: "Time", cell: ({ time }) => <Time at={time} /> },
];
