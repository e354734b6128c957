import { useSignal } from "@preact/signals";
import type { MonitorFiringJson, MonitorStandingJson, TestMonitorResponseJson } from "../../../../gen/svc/v1/monitor_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { longestReplay } from "../../../domain/metrics/monitor.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { durationMs } from "../define/feature-text.ts";
import { valueText } from "./monitor-text.ts";

const WEEK_MS = 7 * 86_400_000;

const COLUMNS: readonly Column<MonitorFiringJson>[] = [
  { name: "fired", title: "Fired", width: "12rem", cell: ({ firedAt }) => <Time at={firedAt} /> },
  {
    name: "resolved",
    title: "Resolved",
    width: "12rem",
    cell: ({ resolvedAt }) => (resolvedAt ? <Time at={resolvedAt} /> : "still firing"),
  },
  {
    name: "worst",
    title: "Worst value",
    width: "14rem",
    cell: ({ labels, unit, worstValue }) => escapeControls(valueText(worstValue, unit, labels)),
  },
];

/**
 * What a monitor would have done in the last week, or for as long as values of its period are
 * kept: replayed when it is asked for.
 */
export function MonitorTest({ standing: { monitor: { name = "" } = {}, period } }: { readonly standing: MonitorStandingJson }) {
  const command = useCommand();
  const isAsked = useSignal(false);
  const sinceMs = Math.min(WEEK_MS, longestReplay(durationMs(period)));
  const since = formatDuration(sinceMs);
  const request = isAsked.value ? { name, since: `${sinceMs / 1000}s` } : undefined;
  const answer = useAnswer("MonitorService/TestMonitor", request, environmentScope.value);
  return (
    <>
      <h2>Test</h2>
      <Command line={command("monitors", "test", name, "--since", since)} />
      {isAsked.value ? (
        <Loading of={answer} lines={3}>
          {(replay) => <Replayed replay={replay} />}
        </Loading>
      ) : (
        <p>
          <button type="button" onClick={() => (isAsked.value = true)}>
            {`Test against the last ${since}`}
          </button>
        </p>
      )}
    </>
  );
}

function Replayed({ replay }: { readonly replay: TestMonitorResponseJson }) {
  const { broken = 0, evaluations = 0, firings = [], omitted = 0, step, withoutValue = 0 } = replay;
  return (
    <>
      <p role="status">
        {`${evaluations} evaluations every ${formatDuration(durationMs(step))}: ${broken} beyond the bound`}
        {withoutValue > 0 && `, ${withoutValue} without a value`}
        {firings.length === 0 && ". It would not have fired"}
        {omitted > 0 && `; ${omitted} more firings are not shown`}.
      </p>
      {firings.length > 0 && <WindowTable label="Firings" columns={COLUMNS} rows={firings} keyOf={({ firedAt = "" }) => firedAt} />}
    </>
  );
}
