import { useSignal } from "@preact/signals";
import type { MonitorStandingJson } from "../../../../gen/svc/v1/monitor_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { Action } from "../../app/action.tsx";
import { environmentScope } from "../../app/who.ts";

/** How long a silence can be chosen to be, seconds. */
const LENGTHS = [1_800, 3_600, 7_200, 28_800, 86_400, 604_800] as const;
const USUAL = 7_200;
/** Most characters of a reason, as the contract has it. */
const MAX_REASON = 500;

interface SilenceParts {
  readonly standing: MonitorStandingJson;
  readonly onDone: () => void;
}

/** The button that silences a monitor, or ends its silence. */
export function MonitorSilence({ standing: { monitor: { name = "" } = {}, silence }, onDone }: SilenceParts) {
  return silence ? <End name={name} onDone={onDone} /> : <Begin name={name} onDone={onDone} />;
}

interface NamedParts {
  readonly name: string;
  readonly onDone: () => void;
}

function Begin({ name, onDone }: NamedParts) {
  const seconds = useSignal<number>(USUAL);
  const reason = useSignal("");
  const lasting = formatDuration(seconds.value * 1000);
  const silence = async () => {
    await call("MonitorService/SilenceMonitor", { name, duration: `${seconds.value}s`, reason: reason.value }, environmentScope.value);
    return `${name} is silenced for ${lasting}.`;
  };
  const because = reason.value.trim() === "" ? [] : ["--reason", reason.value.trim()];
  return (
    <Action
      verb="Silence"
      question={`Silence ${escapeControls(name)}?`}
      permission="settings.write"
      words={["monitors", "silence", name, "--for", lasting, ...because]}
      act={silence}
      onDone={onDone}
    >
      <p>Webhooks are not told of it for a time. It is evaluated all the same: if it fires then, they are told when the silence is over.</p>
      <label class="field">
        <span>For</span>
        <select value={String(seconds.value)} onChange={({ currentTarget }) => (seconds.value = Number(currentTarget.value))}>
          {LENGTHS.map((length) => (
            <option key={length} value={String(length)}>
              {formatDuration(length * 1000)}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Why, for others</span>
        <input value={reason} maxLength={MAX_REASON} onInput={({ currentTarget }) => (reason.value = currentTarget.value)} />
      </label>
    </Action>
  );
}

function End({ name, onDone }: NamedParts) {
  const end = async () => {
    await call("MonitorService/EndMonitorSilence", { name }, environmentScope.value);
    return `${name} is silenced no longer.`;
  };
  return (
    <Action
      verb="End silence"
      question={`End the silence of ${escapeControls(name)}?`}
      permission="settings.write"
      words={["monitors", "silence", name, "--end"]}
      act={end}
      onDone={onDone}
    />
  );
}
