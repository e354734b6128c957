import type { FunctionVersionJson } from "../../../../gen/svc/v1/function_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { usePages } from "../../api/pages.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { MetricChart } from "../../parts/metric-chart.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Range } from "../../parts/range.tsx";
import { WindowTable } from "../../parts/window-table.tsx";
import type { PageProps } from "../../routes.ts";
import { functionMetric } from "../define/metric-expressions.ts";
import { FunctionCall } from "./function-call.tsx";
import { KeptCalls } from "./kept-calls.tsx";
import { VERSION_COLUMNS } from "./version-columns.tsx";

/** One function: its live version or else its newest, all versions, and the latest kept calls. */
export default function ComputeFunction({ place }: PageProps<"function">) {
  const command = useCommand();
  const { name } = place.params;
  const pages = usePages(
    "FunctionService/ListFunctions",
    { name },
    environmentScope.value,
    ({ functions = [] }) => functions,
    ({ id = "" }) => id,
  );
  useLive(["deployments"], pages.first.reload);
  return (
    <Page title={`Function ${name}`} command={command("compute", "get", "--name", name)}>
      <Paged of={pages} things="versions" empty={<Empty command="svc compute list">There is no version of this function here.</Empty>}>
        {(rows) => (
          <>
            <Definition version={shownOf(rows)} />
            <h2>Versions</h2>
            <WindowTable label="Versions" columns={VERSION_COLUMNS} rows={rows} keyOf={({ id = "" }) => id} />
          </>
        )}
      </Paged>
      {pages.rows.length > 0 && <Calls version={shownOf(pages.rows)} name={name} />}
      <KeptCalls name={name} />
    </Page>
  );
}

/** Calls the version that the page is about, and how the calls of all versions went. */
function Calls({ name, version }: { readonly name: string; readonly version: FunctionVersionJson }) {
  return (
    <>
      <FunctionCall key={version.id} version={version} />
      <h2>Calls</h2>
      <Range />
      <div class="board">
        <MetricChart
          label="Calls"
          expressions={[
            ["calls", functionMetric("sum", "resolver.count", name)],
            ["failed", functionMetric("sum", "resolver.errors", name)],
          ]}
        />
        <MetricChart
          label="How long they took"
          expressions={[
            ["median", functionMetric("p50", "resolver.latency", name)],
            ["p99", functionMetric("p99", "resolver.latency", name)],
          ]}
        />
      </div>
    </>
  );
}

/** The version that the page is about: the live one, or else the newest. */
function shownOf(rows: readonly FunctionVersionJson[]): FunctionVersionJson {
  return rows.find(({ live }) => live) ?? rows[0] ?? {};
}

function Definition({ version: { function: of = {}, signature = "" } }: { readonly version: FunctionVersionJson }) {
  const { batch = false, concurrency = 0, description = "", owner = "", python, span, tags = [], timeout = "", venv = "" } = of;
  return (
    <>
      <Facts
        facts={[
          ["Signature", <code key="">{escapeControls(signature)}</code>],
          ["Defined in", span && <code>{escapeControls(`${span.file ?? ""}:${span.line ?? 0}`)}</code>],
          ["Python", python && <code>{escapeControls(`${python.module ?? ""}.${python.name ?? ""}`)}</code>],
          ["Called", batch ? "once for all rows" : "for each row"],
          ["Takes at most", timeout],
          ["At once", concurrency > 0 && concurrency],
          ["Venv", escapeControls(venv)],
          ["Owner", escapeControls(owner)],
          ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
        ]}
      />
      {description !== "" && <p>{visibleLines(description)}</p>}
    </>
  );
}
