import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { environmentScope } from "../../app/who.ts";
import { Code } from "../../parts/code.tsx";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { type ExportedSignal, exportedBy, scrapeConfig, senderVariables } from "./exported.ts";

const COLUMNS: readonly Column<ExportedSignal>[] = [
  { name: "signal", title: "Signal", width: "7rem", cell: ({ signal }) => signal },
  { name: "collector", title: "Collector", width: "16rem", cell: ({ collector }) => <code>{visibleLines(collector)}</code> },
  { name: "encoding", title: "Encoding", width: "7rem", cell: ({ encoding }) => encoding },
  { name: "taken", title: "Taken last", width: "10rem", cell: ({ takenAt }) => <Time at={takenAt} /> },
  { name: "dropped", title: "Dropped", width: "6.5rem", isNumber: true, cell: ({ dropped }) => dropped },
  {
    name: "state",
    title: "State",
    width: "17rem",
    cell: ({ problem, takenAt }) =>
      problem !== "" ? (
        <Status tone="bad">
          <span title={visibleLines(problem)}>{visibleLines(problem)}</span>
        </Status>
      ) : (
        <Status tone={takenAt === undefined ? "dim" : "good"}>{takenAt === undefined ? "nothing sent yet" : "taken"}</Status>
      ),
  },
];

/** How other systems read what the server records, and how they send it theirs. */
export default function Export() {
  const command = useCommand();
  const answer = useAnswer("InfraService/DescribeComponent", { component: "COMPONENT_TELEMETRY" }, environmentScope.value);
  return (
    <Loading of={answer} lines={8}>
      {({ spec = "{}" }) => {
        const { isOpen, signals } = exportedBy(spec);
        return (
          <>
            <h2>To OpenTelemetry</h2>
            <p>
              With OpenTelemetry's variables set where the server starts, its spans, lines and metrics go to a collector, by OTLP over HTTP.
            </p>
            {signals.length === 0 ? (
              <Empty command="OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 svc server start">
                This server exports nothing. To a collector on its machine:
              </Empty>
            ) : (
              <WindowTable label="Exported signals" columns={COLUMNS} rows={signals} keyOf={({ signal }) => signal} />
            )}
            <h2>To Prometheus</h2>
            <p>
              {isOpen
                ? "Programs on the server's machine read /metrics without a token; all others need a service token of the whole team."
                : "Prometheus reads /metrics with a service token of the whole team. --metrics-open lets programs on the server's machine read it without one."}
            </p>
            <Command line={command("service-token", "create", "--name", "prometheus", "--permission", "read")} />
            <Code text={scrapeConfig(new URL(location.origin), isOpen)} file="prometheus.yml" />
            <p>The same text, once:</p>
            <Command line={command("metrics", "export")} />
            <h2>From applications</h2>
            <p>
              Spans, lines and metrics that an application sends stand beside those of its queries: in the same trace, and in{" "}
              <code>app.*</code> metrics. It needs the permission <code>telemetry.write</code>.
            </p>
            <Code text={senderVariables(location)} file="environment of the application" />
          </>
        );
      }}
    </Loading>
  );
}
