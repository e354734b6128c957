import type { TestClusterResponse } from "../../../gen/svc/v1/cluster_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "Test the connection to a cluster",
  description: "Everything that the platform needs there is tried. Exit code 1 when something does not work.",
  examples: ["svc clusters test clstr_local"],
  needs: ["session"],
  args: { clusterId: arg("cluster id") },
  run: async ({ api }, { clusterId }) => (await api.clusters()).testCluster({ id: clusterId }),
  exitCode: ({ checks }) => (checks.every(({ ok }) => ok) ? 0 : 1),
  view: messageTable<TestClusterResponse>("checks", {
    name: "Check",
    ok: {
      header: "Result",
      cell: ({ ok, problem }) => (ok ? "ok" : `failed: ${problem}`),
      style: (text, style, { ok }) => (ok ? style.green(text) : style.red(text)),
    },
  }),
});
