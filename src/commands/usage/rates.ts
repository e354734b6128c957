import type { ListRatesResponse } from "../../../gen/svc/v1/usage_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "Show machine rates",
  description: "As server.yaml of the server's data directory states them under `usage: rates:`.",
  examples: ["svc usage rates", "svc usage rates --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.usage()).listRates({}),
  view: messageTable<ListRatesResponse>("rates", {
    cloud: "Cloud",
    machine: "Machine",
    vcpus: { header: "vCPUs", align: "right" },
    memoryGb: { header: "Memory (gb)", align: "right" },
    creditsPerHour: { header: "Credits/hr", align: "right" },
  }),
});
