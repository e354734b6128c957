import { defineCommand } from "../../cli/command.ts";
import { list, text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { warned } from "./flags.ts";
import { type TagsAnswer, trafficView } from "./view.ts";

export default defineCommand({
  summary: "Take a tag's queries and workers away",
  description: "Its weight becomes null. `svc traffic set` gives it one again and starts its workers before.",
  examples: ["svc traffic suspend --deployment-tag green"],
  needs: ["session"],
  flags: { deploymentTag: list(text("tag", { aliases: ["--tag", "--tags"], placeholder: "<tag>" }), { split: true }) },
  check({ deploymentTag }) {
    if (deploymentTag.length === 0)
      throw new UsageError("--deployment-tag is missing", { hint: "For example: svc traffic suspend --deployment-tag green" });
  },
  async run(context, { deploymentTag }): Promise<TagsAnswer> {
    const service = await context.api.traffic();
    let answer: TagsAnswer = { tags: [] };
    for (const tag of new Set(deploymentTag)) answer = await service.suspendTraffic({ tag });
    return warned(context, answer);
  },
  view: trafficView,
});
