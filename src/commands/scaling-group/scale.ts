import type { ScaleScalingGroupResponse } from "../../../gen/svc/v1/scaling_group_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { int } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { checkWhich, whichFlags } from "../container-flags.ts";
import { GROUP_FIELDS } from "./scaling-group-view.ts";

export default defineCommand({
  summary: "Change how many replicas a scaling group has",
  description: "What is not given stays as it is, and so do the replicas that are still needed.",
  examples: [
    "svc scaling-group scale --name score --max-replicas 8",
    { run: "svc scaling-group scale --name score --min-replicas 0", does: "None while nobody asks" },
  ],
  needs: ["session"],
  flags: {
    ...whichFlags,
    minReplicas: int("fewest replicas; 0 = none while nobody asks", { placeholder: "<count>" }),
    maxReplicas: int("most replicas, up to 100", { placeholder: "<count>" }),
    targetCpu: int("percent of a replica's processors at which another is started", { placeholder: "<percent>" }),
  },
  check({ id, maxReplicas, minReplicas, name, targetCpu }) {
    checkWhich({ id, name });
    if (minReplicas === undefined && maxReplicas === undefined && targetCpu === undefined)
      throw new UsageError("one of --min-replicas, --max-replicas and --target-cpu is required");
    if (minReplicas !== undefined && minReplicas < 0) throw new UsageError("--min-replicas is not below 0");
    if (maxReplicas !== undefined && maxReplicas < 1) throw new UsageError("--max-replicas is at least 1");
    if (targetCpu !== undefined && (targetCpu < 1 || targetCpu > 100)) throw new UsageError("--target-cpu is from 1 to 100");
  },
  run: async ({ api }, { id, maxReplicas, minReplicas, name, targetCpu }) =>
    (await api.scalingGroups()).scaleScalingGroup({
      group: id ?? name,
      ...(minReplicas !== undefined && { minReplicas }),
      ...(maxReplicas !== undefined && { maxReplicas }),
      ...(targetCpu !== undefined && { targetCpu }),
    }),
  view: resourceFields(({ group }: ScaleScalingGroupResponse) => group, GROUP_FIELDS),
});
