import type { DescribeOnlineStoreResponse } from "../../../gen/svc/v1/feature_data_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { yamlView } from "../../output/yaml-view.ts";

export default defineCommand({
  summary: "Print what the online store is and holds",
  description: "Values of all environments of the server are counted.",
  examples: ["svc online-store describe", "svc online-store describe --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.featureData()).describeOnlineStore({}),
  view: yamlView(({ driver, address, itemCount, sizeBytes, droppedWrites }: DescribeOnlineStoreResponse) => ({
    [driver]: { address, item_count: Number(itemCount), table_size_bytes: Number(sizeBytes), dropped_writes: Number(droppedWrites) },
  })),
});
