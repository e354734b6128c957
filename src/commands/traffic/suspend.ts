import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { trafficView, warned } from "./view.ts";

export default defineCommand({
  summary: "Take a tag's queries and workers away",
  description: "Its weight becomes null. `svc traffic set` gives it one again and starts its workers before.",
  examples: ["svc traffic suspend --deployment-tag green"],
  needs: ["session"],
  flags: { deploymentTag: text("tag", { aliases: ["--tag"], placeholder: "<tag>", required: true }) },
  run: async (context, { deploymentTag }) => warned(context, await (await context.api.traffic()).suspendTraffic({ tag: deploymentTag })),
  view: trafficView,
});
