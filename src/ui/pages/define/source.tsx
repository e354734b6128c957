import { lineageId } from "../../../domain/lineage.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useCommand } from "../../app/command.ts";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { MetricChart } from "../../parts/metric-chart.tsx";
import { Page } from "../../parts/page.tsx";
import { Range } from "../../parts/range.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { IntegrationActions } from "../settings/integration-actions.tsx";
import { sourceMetric } from "./metric-expressions.ts";
import { Neighbours } from "./neighbours.tsx";
import type { Asked, SourceRow } from "./source-rows.ts";
import { SourceStatus } from "./sources.tsx";
import { useSources } from "./use-sources.ts";

/** One source: how it is reached, how it does, and what reads it. */
export default function Source({ place }: PageProps<"source">) {
  const command = useCommand();
  const { name } = place.params;
  const { askedOf, graph, integrations, rows } = useSources();
  const row = rows.find((one) => one.name === name);
  return (
    <Page
      title={`Source ${name}`}
      command={command("graph", "--format", "json")}
      actions={row?.integration && <IntegrationActions integration={row.integration} onDone={integrations.reload} />}
    >
      <Loading of={graph} lines={6}>
        {() =>
          row ? (
            <Content row={row} asked={askedOf(name)} />
          ) : (
            <Empty command="svc integration insert">
              There is no source of this name: the deployment declares none, and no integration is one.
            </Empty>
          )
        }
      </Loading>
    </Page>
  );
}

function Content({ asked, row }: { readonly asked: Asked; readonly row: SourceRow }) {
  const command = useCommand();
  const { declared, integration, isTopic, kind, name, problem, users } = row;
  const { settings = {}, span } = declared ?? {};
  return (
    <>
      <Facts
        facts={[
          ["Kind", kind],
          ["Last hour", <SourceStatus key="" row={row} asked={asked} />],
          ["Problem", problem !== "" && <span class="bad">{visibleLines(problem)}</span>],
          ["Declared", span?.file ? <code>{`${escapeControls(span.file)}:${span.line}`}</code> : !declared && "not in the project"],
          ...Object.entries(settings).map(([key, value]) => [escapeControls(key), <code key="">{escapeControls(value)}</code>] as const),
          ["Integration", integration && escapeControls(`${integration.name}, ${integration.kind}`)],
          ["Variables", integration && <code>{escapeControls((integration.secrets ?? []).join(", "))}</code>],
          ["Integration set", integration?.updatedAt && <Time at={integration.updatedAt} />],
        ]}
      />
      {!integration && !isTopic && (
        <>
          <p class="dim">
            No integration has its name: the settings in code and the server's own variables count. A password is kept in an integration:
          </p>
          <Command line={command("integration", "insert", "--name", name, "--kind", kind)} />
        </>
      )}
      {!isTopic && (
        <>
          <h2>Statements</h2>
          <Range />
          <div class="board">
            <MetricChart label="Statements" expressions={[["statements", sourceMetric("sum", "source.count", name)]]} />
            <MetricChart label="Statements that failed" expressions={[["failed", sourceMetric("sum", "source.errors", name)]]} />
            <MetricChart
              label="Time of statements"
              expressions={(["p50", "p99"] as const).map((fn) => [fn, sourceMetric(fn, "source.latency", name)] as const)}
            />
          </div>
        </>
      )}
      {users.length > 0 || declared ? (
        <Neighbours
          id={lineageId("source", name)}
          needs={["Needs", "Nothing: it is where data come from."]}
          neededBy={["Used by", "Nothing reads it."]}
        />
      ) : null}
    </>
  );
}
