import type { ListRatesResponse } from "../../../gen/svc/v1/usage_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "Show machine rates",
  description:
    "As server.yaml of the server's data directory states them under `usage: rates:`, and below them its `credits_per_million_queries` and `credits_per_gib_month`, where there are some.",
  examples: ["svc usage rates", "svc usage rates --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.usage()).listRates({}),
  view: messageTable<ListRatesResponse>(
    "rates",
    {
      cloud: "Cloud",
      machine: "Machine",
      vcpus: { header: "vCPUs", align: "right" },
      memoryGb: { header: "Memory (gb)", align: "right" },
      creditsPerHour: { header: "Credits/hr", align: "right" },
    },
    { things: "machine rates", after: otherRates },
  ),
});

function otherRates({ creditsPerGibMonth, creditsPerMillionQueries }: ListRatesResponse): string {
  return [
    ...(creditsPerMillionQueries > 0 ? [`Credits for a million queries: ${creditsPerMillionQueries}`] : []),
    ...(creditsPerGibMonth > 0 ? [`Credits for a GiB stored for a month: ${creditsPerGibMonth}`] : []),
  ].join("\n");
}
