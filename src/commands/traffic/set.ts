import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { mirrorFlag, readWeights, warned } from "./flags.ts";
import { trafficView } from "./view.ts";

export default defineCommand({
  summary: "Set the weights of tags",
  description:
    "Each tag stands for its newest ready deployment from then on; tags that are not named keep their weights. Queries of the same correlation ID go to the same tag.",
  examples: [
    "svc traffic set --tags blue=90,green=10",
    { run: "svc traffic set --tags v2=5 --mirror v3=20", does: "Send 5 % to v2, and copy 20 % to v3" },
  ],
  needs: ["session"],
  flags: { tags: text("percent of the queries by tag", { placeholder: "<tag=weight,...>" }), ...mirrorFlag },
  check({ mirror, tags }) {
    if (tags === undefined && mirror === undefined)
      throw new UsageError("give --tags or --mirror", { hint: "For example: svc traffic set --tags blue=90,green=10" });
    readWeights("--tags", tags);
    readWeights("--mirror", mirror);
  },
  async run(context, { mirror, tags }) {
    const service = await context.api.traffic();
    return warned(
      context,
      await service.setTraffic({ weights: readWeights("--tags", tags), mirrorWeights: readWeights("--mirror", mirror) }),
    );
  },
  view: trafficView,
});
