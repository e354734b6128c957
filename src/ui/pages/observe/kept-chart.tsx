import { useSignal } from "@preact/signals";
import type { ChartJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { Action } from "../../app/action.tsx";
import { environmentScope } from "../../app/who.ts";

/** Most characters of a title, as the contract has it. */
const MAX_TITLE = 200;
/** What lengths of time that charts show are multiples of, milliseconds. */
const UNIT_MS = 10_000;

interface PinParts {
  readonly expression: string;
  /** Length of the time that is shown now, milliseconds. */
  readonly lengthMs: number;
  readonly onDone: () => void;
}

/** The button that keeps an expression as a chart of the project. */
export function PinChart({ expression, lengthMs, onDone }: PinParts) {
  const title = useSignal("");
  const name = title.value.trim() || expression.slice(0, MAX_TITLE);
  const rangeMs = Math.max(Math.round(lengthMs / UNIT_MS), 1) * UNIT_MS;
  const range = formatDuration(rangeMs);
  const pin = async () => {
    await call("MetricService/CreateChart", { name, series: [{ expression }], range: `${rangeMs / 1000}s` }, environmentScope.value);
    return `${name} is kept.`;
  };
  return (
    <Action
      verb="Pin"
      question="Keep the chart with the project?"
      permission="settings.write"
      words={["charts", "create", "--name", name, "--expression", expression, "--range", range]}
      act={pin}
      onDone={onDone}
    >
      <p>{`All who see the project have it on this page. It shows ${range} when nobody chooses another time.`}</p>
      <label class="field">
        <span>Title</span>
        <input
          value={title}
          maxLength={MAX_TITLE}
          placeholder={name}
          onInput={({ currentTarget }) => (title.value = currentTarget.value)}
        />
      </label>
    </Action>
  );
}

/** The button that deletes a chart of the project. */
export function UnpinChart({ chart: { id = "", name = "" }, onDone }: { readonly chart: ChartJson; readonly onDone: () => void }) {
  const unpin = async () => {
    await call("MetricService/DeleteChart", { id }, environmentScope.value);
    return `${name} is no longer kept.`;
  };
  return (
    <Action
      verb="Unpin"
      question={`Unpin ${escapeControls(name)}?`}
      permission="settings.write"
      words={["charts", "delete", name, "--yes"]}
      act={unpin}
      onDone={onDone}
    >
      <p>It is gone for all who see the project. What it shows stays recorded.</p>
    </Action>
  );
}
