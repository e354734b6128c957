import { useCommand } from "../../app/command.ts";
import { Command } from "../../parts/command.tsx";
import { MetricChart } from "../../parts/metric-chart.tsx";
import { Range } from "../../parts/range.tsx";
import { replicasExpression, type UseOf, useExpression } from "./container-metrics.ts";

/** What a container, a sandbox or the replicas of a group used, and how many these were. */
export function UseCharts({ of }: { readonly of: UseOf }) {
  const command = useCommand();
  const processors = useExpression("container.cpu", of);
  return (
    <>
      <h2>Over time</h2>
      <Command line={command("metrics", "query", processors)} />
      <Range />
      <div class="board">
        {of.label === "group" && (
          <MetricChart
            label="Number of replicas"
            expressions={[
              ["ready", replicasExpression(of.name, "ready")],
              ["wanted", replicasExpression(of.name, "wanted")],
            ]}
          />
        )}
        <MetricChart label="Processors in use" expressions={[["processors", processors]]} />
        <MetricChart label="Memory in use" expressions={[["memory", useExpression("container.memory", of)]]} />
      </div>
    </>
  );
}
