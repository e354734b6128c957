import { defineCommand } from "../../cli/command.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { mirrorFlag, readWeights } from "./flags.ts";
import { trafficView } from "./view.ts";

export default defineCommand({
  summary: "Copy queries to deployments and drop their answers",
  description: "A copy runs after the answer was made, stores nothing, and is dropped when too many run at once.",
  examples: ["svc traffic mirror --mirror green=20", { run: "svc traffic mirror --mirror green=0", does: "Stop copying" }],
  needs: ["session"],
  flags: { mirror: { ...mirrorFlag.mirror, required: true } },
  check({ mirror }) {
    if (mirror === undefined) throw new UsageError("--mirror is required");
    readWeights("--mirror", mirror);
  },
  run: async ({ api }, { mirror }) => (await api.traffic()).setTraffic({ mirrorWeights: readWeights("--mirror", mirror) }),
  view: trafficView,
});
