import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useLive } from "../../app/live.ts";
import { href, scope } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { Status } from "../../parts/status.tsx";
import { withTerm } from "../observe/search-terms.ts";
import { type FailingThing, failingThings, total, valuesOf } from "./last-hour.ts";

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
  const all = [queries, failed, resolvers, jobs];
  useLive(["metrics"], () => {
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
              ["Queries with errors", <Count key="" of={total(failed.data?.series ?? [])} />],
              [
                "Failing resolvers",
                <Failing key="" things={failingThings(resolvers.data?.series ?? [], "resolver", MOST_FAILING)} link={logsOf} />,
              ],
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
