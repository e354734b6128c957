import { useSignal } from "@preact/signals";
import type { ScalingGroupJson } from "../../../../gen/svc/v1/scaling_group_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { go, href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";

interface GroupParts {
  readonly group: ScalingGroupJson;
  readonly onDone: () => void;
}

/** Changes how many replicas a group has. */
export function ScaleGroup({ group: { bounds = {}, name = "" }, onDone }: GroupParts) {
  const command = useCommand();
  const [least, most, target] = [
    useSignal(String(bounds.minReplicas ?? 0)),
    useSignal(String(bounds.maxReplicas ?? 1)),
    useSignal(String(bounds.targetCpu ?? 80)),
  ];
  const act = async () => {
    const wanted = { minReplicas: Number(least.value), maxReplicas: Number(most.value), targetCpu: Number(target.value) };
    await call("ScalingGroupService/ScaleScalingGroup", { group: name, ...wanted }, environmentScope.value);
    return `${name} has ${least.value} to ${most.value} replicas.`;
  };
  const fields = [
    ["Fewest replicas", least, 0, 100],
    ["Most replicas", most, 1, 100],
    ["Percent of a replica's processors at which another is started", target, 1, 100],
  ] as const;
  return (
    <Action verb="Scale" question={`Scale ${escapeControls(name)}?`} permission="containers.write" act={act} onDone={onDone}>
      <p>Replicas that are still needed go on. With none as the fewest, there are none after a minute without a request.</p>
      {fields.map(([label, value, min, max]) => (
        <label key={label} class="field">
          <span>{label}</span>
          <input
            type="number"
            required
            step={1}
            min={min}
            max={max}
            value={value}
            onInput={({ currentTarget }) => (value.value = currentTarget.value)}
          />
        </label>
      ))}
      <Command
        line={command(
          ...["scaling-group", "scale", "--name", name],
          ...["--min-replicas", least.value, "--max-replicas", most.value, "--target-cpu", target.value],
        )}
      />
    </Action>
  );
}

/** Puts new replicas in the place of all. */
export function RestartGroup({ group: { name = "" }, onDone }: GroupParts) {
  const act = async () => {
    await call("ScalingGroupService/RestartScalingGroup", { group: name }, environmentScope.value);
    return `New replicas of ${name} take the place of the old ones.`;
  };
  return (
    <Action
      verb="Restart"
      question={`Restart ${escapeControls(name)}?`}
      permission="containers.write"
      words={["scaling-group", "restart", "--name", name]}
      act={act}
      onDone={onDone}
    >
      <p>New replicas answer before the old ones go. When the first one cannot be started, all stays as it is.</p>
    </Action>
  );
}

/** Deletes a group, and goes to the list of those that are left. */
export function DeleteGroup({ group: { name = "" } }: Pick<GroupParts, "group">) {
  const act = async () => {
    await call("ScalingGroupService/DeleteScalingGroup", { group: name }, environmentScope.value);
    go(href("scalingGroups", {}));
    return `${name} was deleted.`;
  };
  return (
    <Action
      verb="Delete"
      question={`Delete ${escapeControls(name)} with its replicas?`}
      permission="containers.write"
      typed={name}
      words={["scaling-group", "delete", "--name", name]}
      act={act}
    >
      <p>Requests that are being answered are cut. Volumes stay.</p>
    </Action>
  );
}
