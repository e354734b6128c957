import type { GetEnvironmentConfigResponse } from "../../../gen/svc/v1/environment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { configDocument } from "../../domain/environment-config.ts";
import { readConfigMessage } from "../../domain/environment-config-message.ts";
import { yamlView } from "../../output/yaml-view.ts";

export default defineCommand({
  summary: "Dump the active environment's configuration as YAML",
  description:
    "`svc environment update` takes the same keys; a dump that is given back unchanged changes nothing. history_max_age and history_max_size bound the history; how long logs, metrics, spans and the log of queries are kept is the server's: `svc infra describe metrics`.",
  examples: ["svc environment config", "svc environment config --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.environments()).getEnvironmentConfig({}),
  view: yamlView(({ config, environment }: GetEnvironmentConfigResponse) =>
    configDocument({ id: environment?.id ?? "", name: environment?.name ?? "" }, readConfigMessage(config)),
  ),
});
