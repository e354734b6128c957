import { defineCommand } from "../../cli/command.ts";
import { choice, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { INTEGRATION_KIND_NAMES, INTEGRATION_KINDS, type IntegrationKind, type IntegrationVariable } from "../../domain/integrations.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { orRequestView } from "../approval/approval-view.ts";
import { orRequest } from "../approval/flags.ts";
import { readPairs, readStdin } from "../secret/pairs-flags.ts";
import { APPLIED } from "./applied-view.ts";

export default defineCommand({
  summary: "Create an integration",
  description:
    "On a terminal, what is missing and the variables of the kind are asked for, secrets without echo. Elsewhere --name and --kind are required, and stdin has the " +
    "variables as KEY=VALUE lines.",
  examples: [
    "svc integration insert",
    { run: "cat pg.env | svc integration insert --name pg --kind postgresql", does: "PGHOST=... and so on, one in a line" },
  ],
  needs: ["session"],
  flags: {
    name: text("name", { placeholder: "<name>" }),
    kind: choice("kind", INTEGRATION_KIND_NAMES),
  },
  async run(context, { kind: givenKind, name: givenName }) {
    const { api, prompt } = context;
    const name = givenName ?? (await prompt.text("Name of the integration", "--name")).trim();
    const kind = givenKind ?? (await prompt.pick("Which kind?", KINDS, "--kind"));
    const environmentVariables = await variablesOf(context, kind);
    return orRequest(context, await (await api.integrations()).applyIntegration({ name, kind, environmentVariables, mustBeNew: true }));
  },
  view: orRequestView(APPLIED),
});

const KINDS = INTEGRATION_KIND_NAMES.map((kind) => ({ label: kind, value: kind }));

async function variablesOf(context: Context, kind: IntegrationKind): Promise<Record<string, string>> {
  if (!context.io.stdinIsTTY) {
    const pairs = readPairs(await readStdin(context));
    const names = pairs.map(([name]) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new UsageError(`${twice} is on stdin twice`);
    return Object.fromEntries(pairs);
  }
  const variables: Record<string, string> = {};
  for (const variable of INTEGRATION_KINDS[kind]) {
    const value = await ask(context, variable);
    if (value !== "") variables[variable.name] = value;
  }
  return variables;
}

/** The value that is typed for a variable; empty = none. */
async function ask({ prompt }: Context, { isRequired, isSecret, meaning, name, type }: IntegrationVariable): Promise<string> {
  const question = `${name}: ${meaning}${isRequired ? "" : " (optional)"}`;
  if (typeof type !== "string")
    return prompt.pick(
      question,
      [...(isRequired ? [] : [{ label: "none", value: "" }]), ...type.map((value) => ({ label: value, value }))],
      name,
    );
  if (!isSecret) return (await prompt.text(question, name)).trim();
  try {
    return await prompt.secret(question);
  } catch (error) {
    if (isRequired || !(error instanceof UsageError)) throw error;
    return "";
  }
}
