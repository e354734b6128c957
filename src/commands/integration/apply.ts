import { defineCommand } from "../../cli/command.ts";
import { integrationProblem } from "../../domain/integrations.ts";
import { CliError } from "../../errors/cli-error.ts";
import { orRequestView } from "../approval/approval-view.ts";
import { orRequest } from "../approval/flags.ts";
import { documentFlags, type GivenDocument, readDocument } from "../document-flags.ts";
import { APPLIED } from "./applied-view.ts";

const KEYS = ["name", "kind", "environment_variables"];

export default defineCommand({
  summary: "Create or change an integration from a file",
  description: "The integration is found by its name. What the file leaves out of environment_variables is taken away.",
  examples: ["svc integration apply --file pg.yaml", { run: "cat pg.yaml | svc integration apply -f -", does: "From stdin" }],
  needs: ["session"],
  flags: documentFlags("integration with name, kind and environment_variables"),
  async run(context, { file }) {
    const document = await readDocument(context, file);
    const name = textAt(document, "name");
    const kind = textAt(document, "kind");
    const unknown = Object.keys(document.value).find((key) => !KEYS.includes(key));
    if (unknown !== undefined) throw wrong(document, `has the key '${unknown}'; the keys are ${KEYS.join(", ")}`);
    const environmentVariables = variablesAt(document);
    const problem = integrationProblem(name, kind, environmentVariables);
    if (problem !== undefined) throw new CliError(`${document.place}: ${problem}`, { code: "bad_document" });
    return orRequest(context, await (await context.api.integrations()).applyIntegration({ name, kind, environmentVariables }));
  },
  view: orRequestView(APPLIED),
});

function wrong({ place }: GivenDocument, problem: string): CliError {
  return new CliError(`${place} ${problem}`, { code: "bad_document" });
}

function textAt(document: GivenDocument, key: string): string {
  const value = document.value[key];
  if (value === undefined) throw wrong(document, `has no ${key}, which is required`);
  if (typeof value !== "string") throw wrong(document, `has a ${key} that is no text`);
  return value;
}

function variablesAt(document: GivenDocument): Record<string, string> {
  const given = document.value.environment_variables ?? {};
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw wrong(document, "has environment_variables that are no names with values");
  return Object.fromEntries(
    Object.entries(given).map(([name, value]: [string, unknown]) => {
      if (typeof value === "number" || typeof value === "boolean") return [name, String(value)];
      if (typeof value !== "string") throw wrong(document, `has a value of ${name} that is no text`);
      return [name, value];
    }),
  );
}
