import { escapeControls } from "../../../domain/name.ts";
import { setQueried } from "../../app/place.ts";
import { MetricChart } from "../../parts/metric-chart.tsx";
import { Range } from "../../parts/range.tsx";
import { rangeText } from "../../parts/time-range.ts";
import { DeploymentLink } from "./deployment-link.tsx";

/** Milliseconds before and after a deployment that are shown together. */
const AROUND_MS = 1_800_000;

/** A deployment by its id and its tags: metrics know it by the first tag where it has one. */
export interface Named {
  readonly id: string;
  readonly tags: readonly string[];
}

interface RatesParts {
  readonly of: Named;
  /** The deployment that it is compared with; undefined = none. */
  readonly other: Named | undefined;
  readonly createdAt: string | undefined;
  /** Whether another deployment has its first tag, so that the metrics are those of both. */
  readonly isTagShared: boolean;
}

function filterOf({ id, tags }: Named): string {
  return `{deployment:${[id, ...tags.slice(0, 1)].map((name) => JSON.stringify(name)).join("|")}}`;
}

/** How often a deployment and another one were asked, how fast they answered, and what failed. */
export function DeploymentRates({ of, other, createdAt, isTagShared }: RatesParts) {
  const begun = Date.parse(createdAt ?? "");
  const lines = (expression: (filter: string) => string) => [
    ["this one", expression(filterOf(of))] as const,
    ...(other === undefined ? [] : [["the other", expression(filterOf(other))] as const]),
  ];
  return (
    <>
      <h2>Queries{other && " before and after"}</h2>
      <div class="range-row">
        <Range />
        {!Number.isNaN(begun) && (
          <button type="button" onClick={() => setQueried({ range: rangeText({ from: begun - AROUND_MS, to: begun + AROUND_MS }) })}>
            The hour around its deployment
          </button>
        )}
      </div>
      {isTagShared && (
        <p class="dim">
          Metrics know it by its tag <code>{escapeControls(of.tags[0] ?? "")}</code>, as they do other deployments: choose the time when it
          was live.
        </p>
      )}
      {other && (
        <p class="dim">
          The other one is <DeploymentLink id={other.id} />.
        </p>
      )}
      <div class="board">
        <MetricChart label="Queries" expressions={lines((filter) => `sum:query.count${filter}`)} />
        <MetricChart label="Queries with errors" expressions={lines((filter) => `sum:query.errors${filter}`)} />
        <MetricChart label="Latency, p99" expressions={lines((filter) => `p99:query.latency${filter}`)} />
      </div>
    </>
  );
}
