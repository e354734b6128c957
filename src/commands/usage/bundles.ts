import type { ListBundlesResponse } from "../../../gen/svc/v1/usage_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "Show credit bundles",
  description: "As server.yaml of the server's data directory states them under `usage: bundles:`, with what is left of each.",
  examples: ["svc usage bundles", "svc usage bundles --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.usage()).listBundles({}),
  view: messageTable<ListBundlesResponse>("bundles", {
    bundleId: "Bundle ID",
    purchaseDate: "Purchase Date",
    credits: { header: "Credits", align: "right" },
    price: { header: "Price", align: "right" },
    remaining: { header: "Remaining", align: "right", cell: ({ remaining }) => String(Number(remaining.toFixed(4))) },
    expiresOn: "Expires On",
  }),
});
