import type { Environment } from "../../../gen/svc/v1/environment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { updateEntry } from "../../config/file.ts";
import { describeSource } from "../../config/resolve.ts";
import { didYouMean } from "../../domain/closest.ts";
import { escapeControls } from "../../domain/name.ts";
import { CliError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";

/** The active environment, and the file that selects it when the command changed it. */
interface ActiveEnvironment {
  readonly id: string;
  readonly name: string;
  readonly config_file?: string;
}

export default defineCommand({
  summary: "Show the active environment, or make another one active",
  category: "Set up",
  aliases: ["env"],
  description:
    "The choice is stored for this project or, outside a project, as the default. --environment and SVC_ENVIRONMENT win over it. An environment with the name of " +
    "a subcommand, such as `config`, is given by its id, or after `--`. In a project's folder names are those of its own project.",
  examples: ["svc environment", { run: "svc environment default", does: "Make the environment `default` the active one" }],
  needs: ["session"],
  args: { env: optionalArg("environment id or name to activate; left out: print the current one", { names: "environment" }) },
  async run(context, { env }): Promise<ActiveEnvironment> {
    if (env === undefined) {
      const me = await (await context.api.auth()).whoAmI({});
      if (me.environmentId === "")
        throw new CliError(`project '${await context.projectName()}' is not on this server yet, so it has no environment`, {
          code: "not_found",
          hint: "`svc apply` creates it.",
        });
      return { id: me.environmentId, name: me.environmentName };
    }
    const { environments } = await (await context.api.environments()).listEnvironments({}, { headers: { "svc-environment": "" } });
    const chosen = pick(environments, env, await context.projectName());
    const settings = await context.settings();
    const path = await updateEntry(context.flags, context.surroundings, settings.configKey, { activeEnvironment: chosen.id });
    const { source, value } = settings.environment;
    if ((source.kind === "flag" || source.kind === "env") && value !== chosen.id && value !== chosen.name) {
      context.progress.warn(`the ${describeSource(source)} names '${value}' and wins over this choice`);
    }
    return { id: chosen.id, name: chosen.name, config_file: path };
  },
  view: textView((active: ActiveEnvironment) => {
    const shown = escapeControls(`${active.name} (${active.id})`);
    return active.config_file === undefined ? shown : `The active environment is now ${shown}.`;
  }),
});

/** The environment of an id, or of a name: of the folder's project, where the server has that. */
function pick(all: readonly Environment[], wanted: string, project: string | undefined): Environment {
  const byId = all.find(({ id }) => id === wanted);
  const own = all.filter(({ projectName }) => projectName === project);
  const environments = own.length > 0 ? own : all;
  const byName = environments.filter(({ name }) => name === wanted);
  const found = byId ?? (byName.length === 1 ? byName[0] : undefined);
  if (found) return found;
  const listed = environments.map(({ id, name }) => `${name} (${id})`).join(", ");
  if (byName.length > 1) {
    throw new CliError(`${byName.length} environments have the name '${wanted}'; give the id: ${listed}`, { code: "ambiguous" });
  }
  const near = didYouMean(
    wanted,
    environments.map(({ name }) => name),
  );
  throw new CliError(`there is no environment '${wanted}'${near ? `; ${near}` : ""}`, {
    code: "not_found",
    hint: listed ? `Available: ${listed}.` : "The server has no environments that you can see.",
  });
}
