import { defineCommand } from "../../cli/command.ts";
import { path, text } from "../../cli/flag.ts";
import { changedConfig, readConfigChange } from "../../domain/environment-config.ts";
import { readConfigMessage } from "../../domain/environment-config-message.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { confirmFlags } from "../confirm-flags.ts";
import { readDocument } from "../document-flags.ts";
import { asCliError, configUpdateView, writeConfig } from "./change-flags.ts";

export default defineCommand({
  summary: "Update environment settings from a YAML file",
  description:
    "Keys are those of `svc environment config`; a key that is left out stays, null unsets it, and so do buckets that environment_buckets leaves out. A new " +
    "`name` renames the environment. Resolvers see new additional_env_vars at once: their workers are renewed. `labels` are keys " +
    "and values by which `svc usage export --label` adds up. With `protected: true`, another person approves what changes the " +
    "environment from then on, its end too: `svc approval`. `worker_container` has code run in containers: tasks, evaluations, notebooks and shells from " +
    "then on, resolvers of deployments that start from then on: `svc docs containers`. `history_max_age` (such as 90d) and `history_max_size` (such as 100Gi) bound the stored observations; the oldest go first. Other keys are recorded, and the command says so.",
  examples: [
    "svc environment update -f environment.yaml",
    { run: "svc environment config | svc environment update -f - --force", does: "Changes nothing" },
  ],
  needs: ["session"],
  flags: {
    envId: text("environment id", { defaultText: "active environment", placeholder: "<id>" }),
    configFile: path("settings, as YAML or JSON; - reads stdin", { aliases: ["-f", "--file"], required: true }),
    ...confirmFlags,
  },
  async run(context, { configFile, envId, force }) {
    const { place, value } = await readDocument(context, configFile);
    const change = asCliError(place, () => readConfigChange(value));
    const read = await (await context.api.environments()).getEnvironmentConfig({ environment: envId ?? "" });
    const { id, name } = read.environment ?? { id: "", name: "" };
    if (change.id !== undefined && change.id !== id)
      throw new UsageError(`${place} is of environment ${change.id}, and ${id} ('${name}') would be updated`, {
        hint: `Name the environment with \`--env-id ${change.id}\`, or leave \`id\` out of the file.`,
      });
    const before = readConfigMessage(read.config);
    return writeConfig(context, read, { before, after: changedConfig(before, change), name: change.name ?? name }, { force });
  },
  view: configUpdateView,
});
