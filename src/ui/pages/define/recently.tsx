import type { MonitorStandingJson } from "../../../../gen/svc/v1/monitor_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useLive } from "../../app/live.ts";
import { href, scope } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Duration } from "../../parts/duration.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { Status } from "../../parts/status.tsx";
import { valueText } from "../observe/monitor-text.ts";
import { withTerm } from "../observe/search-terms.ts";
import { type FailingThing, failingThings, type SlowThing, slowestThings, total, valuesOf } from "./last-hour.ts";

/** Names of one kind that are shown at most. */
const MOST_FAILING = 5;

/** The queries of the last hour, and what failed in it. */
export function Recently() {
  const { branch } = scope.value;
  const of = branch === "" ? "" : `{branch:${JSON.stringify(branch)}}`;
  const queries = useMetric(`sum:query.count${of}.rollup(1m)`);
  const failed = useMetric(`sum:query.errors${of}.rollup(1m)`);
  const resolvers = useMetric(`sum:resolver.errors${of} by {resolver}.rollup(1m)`);
  const jobs = useMetric("sum:job.count{state:failed} by {kind}.rollup(1m)");
  const latency = useMetric(`p99:query.latency${of} by {query_name}.rollup(10m)`);
  const monitors = useAnswer("MonitorService/ListMonitors", {}, environmentScope.value);
  const all = [queries, failed, resolvers, jobs, latency, monitors];
  useLive(["metrics", "monitors"], () => {
    for (const { reload } of all) reload();
  });
  return (
    <>
      <h2>Last hour</h2>
      <Loading of={queries} lines={4}>
        {({ series = [] }) => (
          <Facts
            facts={[
              [
                "Queries",
                <>
                  <span class="figure">{total(series).toLocaleString("en")}</span>{" "}
                  {total(series) > 0 && <Sparkline label="Queries by minute" values={valuesOf(series)} />}
                </>,
              ],
              ["Firing monitors", monitors.data && <Firing key="" monitors={monitors.data.monitors ?? []} />],
              ["Queries with errors", <Count key="" of={total(failed.data?.series ?? [])} />],
              [
                "Failing resolvers",
                <Failing key="" things={failingThings(resolvers.data?.series ?? [], "resolver", MOST_FAILING)} link={logsOf} />,
              ],
              ["Slowest queries", <Slowest key="" things={slowestThings(latency.data?.series ?? [], "query_name", MOST_FAILING)} />],
              ["Jobs that failed", <Failing key="" things={failingThings(jobs.data?.series ?? [], "kind", MOST_FAILING)} />],
            ]}
          />
        )}
      </Loading>
    </>
  );
}

function useMetric(expression: string) {
  return useAnswer("MetricService/QueryMetric", { expression }, environmentScope.value);
}

function Firing({ monitors }: { readonly monitors: readonly MonitorStandingJson[] }) {
  const firing = monitors.filter(({ state }) => state === "MONITOR_STATE_FIRING");
  if (firing.length === 0) return <Count of={0} />;
  return (
    <ul class="plain-list">
      {firing.slice(0, MOST_FAILING).map(({ labels, monitor: { name = "" } = {}, silence, unit, value }) => (
        <li key={name}>
          <Status tone="bad">{escapeControls(valueText(value, unit, labels)) || "firing"}</Status>{" "}
          <a href={href("monitor", { name }, { deployment: "" })}>{escapeControls(name)}</a>
          {silence && <span class="dim"> silenced</span>}
        </li>
      ))}
      {firing.length > MOST_FAILING && (
        <li>
          <a href={href("monitors", {}, { deployment: "" })}>{`${firing.length - MOST_FAILING} more`}</a>
        </li>
      )}
    </ul>
  );
}

/** Queries by name with the p99 of their slowest ten minutes. */
function Slowest({ things }: { readonly things: readonly SlowThing[] }) {
  if (things.length === 0) return <span class="dim">none</span>;
  return (
    <ul class="plain-list">
      {things.map(({ name, worst }) => (
        <li key={name}>
          <Duration ms={worst * 1_000} />{" "}
          {name === "" ? <span class="dim">without a name</span> : <a href={runsOf(name)}>{escapeControls(name)}</a>}
        </li>
      ))}
    </ul>
  );
}

/** The runs of a query, by its name. */
function runsOf(name: string): string {
  return href("queryRuns", {}, { deployment: "", query: new URLSearchParams({ q: withTerm("", "query_name", name) }) });
}

/** The lines of a resolver, of the last hour. */
function logsOf(resolver: string): string {
  return href("logs", {}, { deployment: "", query: new URLSearchParams({ q: withTerm("", "resolver", resolver) }) });
}

function Count({ of }: { readonly of: number }) {
  return <Status tone={of > 0 ? "bad" : "good"}>{of > 0 ? of.toLocaleString("en") : "none"}</Status>;
}

function Failing({ things, link }: { readonly things: readonly FailingThing[]; readonly link?: (name: string) => string }) {
  if (things.length === 0) return <Count of={0} />;
  return (
    <ul class="plain-list">
      {things.map(({ name, count }) => (
        <li key={name}>
          <Count of={count} /> {link ? <a href={link(name)}>{escapeControls(name)}</a> : escapeControls(name)}
        </li>
      ))}
    </ul>
  );
}
