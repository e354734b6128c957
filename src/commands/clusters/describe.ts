import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { messageJson } from "../../contract/message-json.ts";
import { CliError } from "../../errors/cli-error.ts";
import { yamlView } from "../../output/yaml-view.ts";

export default defineCommand({
  summary: "Print the full config of a cluster",
  description: "Its nodes are those that gave a sign of life within half a minute.",
  examples: ["svc clusters describe clstr_local"],
  needs: ["session"],
  args: { clusterId: arg("cluster id (clstr_...)") },
  async run({ api }, { clusterId }) {
    const { cluster } = await (await api.clusters()).getCluster({ id: clusterId });
    if (!cluster) throw new CliError("the server named no cluster", { code: "broken_answer" });
    return messageJson(cluster);
  },
  view: yamlView((cluster: unknown) => cluster),
});
