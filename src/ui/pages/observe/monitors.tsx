import type { MonitorStandingJson } from "../../../../gen/svc/v1/monitor_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href, queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Code } from "../../parts/code.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, sorted, WindowTable } from "../../parts/window-table.tsx";
import { MonitorSilence } from "./monitor-silence.tsx";
import { boundText, stateOf, valueText } from "./monitor-text.ts";

/** A monitor as the empty page shows it. */
const EXAMPLE = `from svc import Monitor

Monitor("slow queries", "p99:query.latency.rollup(5m)", above="80ms", for_="10m")`;

/** States in the order of their urgency. */
const URGENCY = ["firing", "pending", "no data", "not evaluated yet", "ok"];

/** The bounds that metrics of the environment should keep, and how they stand. */
export default function Monitors() {
  const command = useCommand();
  const answer = useAnswer("MonitorService/ListMonitors", {}, environmentScope.value);
  const sort = queried("sort") || "state";
  useLive(["monitors"], () => answer.reload());
  if (answer.error?.code === "failed_precondition")
    return (
      <Page title="Monitors" command={command("monitors", "list")}>
        <Empty command="svc apply">Nothing is deployed here yet. Monitors are part of a project:</Empty>
      </Page>
    );
  const columns = columnsOf(answer.reload);
  return (
    <Page title="Monitors" command={command("monitors", "list")}>
      <Loading of={answer} lines={6}>
        {({ monitors = [] }) =>
          monitors.length === 0 ? (
            <>
              <Empty command="svc apply">
                The live deployment has no monitor. A file of the project defines one, and the next deployment has it:
              </Empty>
              <Code text={EXAMPLE} language="python" file="monitors.py" />
            </>
          ) : (
            <WindowTable
              label="Monitors"
              columns={columns}
              rows={sorted(monitors, columns, sort)}
              keyOf={({ monitor }) => monitor?.name ?? ""}
              sort={sort}
              onSort={(next) => setQueried({ sort: next === "state" ? "" : next })}
            />
          )
        }
      </Loading>
    </Page>
  );
}

function columnsOf(onDone: () => void): readonly Column<MonitorStandingJson>[] {
  return [
    {
      name: "name",
      title: "Monitor",
      width: "10rem",
      cell: ({ monitor: { name = "" } = {} }) => (
        <a class="name" href={href("monitor", { name })}>
          {escapeControls(name)}
        </a>
      ),
      sort: ({ monitor }) => monitor?.name ?? "",
    },
    {
      name: "state",
      title: "State",
      width: "7rem",
      cell: (standing) => <Status tone={stateOf(standing).tone}>{stateOf(standing).word}</Status>,
      sort: (standing) => URGENCY.indexOf(stateOf(standing).word),
    },
    { name: "since", title: "Since", width: "8.5rem", cell: ({ since }) => since && <Time at={since} />, sort: ({ since = "" }) => since },
    {
      name: "value",
      title: "Value",
      wraps: true,
      width: "8rem",
      isNumber: true,
      cell: ({ labels, unit, value }) => escapeControls(valueText(value, unit, labels)) || "-",
    },
    { name: "bound", title: "Fires", wraps: true, width: "9rem", cell: ({ monitor = {} }) => escapeControls(boundText(monitor)) },
    {
      name: "severity",
      title: "Severity",
      width: "5.5rem",
      cell: ({ monitor: { severity = "" } = {} }) => severity,
      sort: ({ monitor: { severity = "" } = {} }) => severity,
    },
    { name: "silence", title: "Silenced until", width: "8.5rem", cell: ({ silence }) => silence && <Time at={silence.until} /> },
    { name: "actions", title: "Actions", width: "7rem", cell: (row) => <MonitorSilence standing={row} onDone={onDone} /> },
  ];
}
