import { defineCommand, type InputOf } from "../../cli/command.ts";
import { bool, choice, json, keyValue, list, path, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { didYouMean } from "../../domain/closest.ts";
import {
  ConfigInvalid,
  checkConfig,
  DEFAULT_GROUP,
  GROUPS,
  groupNames,
  resourceGroup,
  servicePatch,
  withResourceGroup,
} from "../../domain/environment-config.ts";
import { readConfigMessage } from "../../domain/environment-config-message.ts";
import { applyJsonPatch, type PatchOperation, PatchRefused, readJsonPatch } from "../../domain/json-patch.ts";
import { asJson, isJsonObject, type Json, type JsonObject } from "../../domain/json-value.ts";
import { applyMergePatch } from "../../domain/merge-patch.ts";
import { escapeUnseen } from "../../domain/visible.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { type OrRequest, orRequestView } from "../approval/approval-view.ts";
import { confirmFlags } from "../confirm-flags.ts";
import { readValue } from "../document-flags.ts";
import { asCliError, type ConfigUpdate, updateText, writeConfig } from "./change-flags.ts";

const patchFlags = {
  resourceGroup: text("group to patch; `default` is the environment's own", { required: true, placeholder: "<group>" }),
  patchType: choice("merge = RFC 7396, json = RFC 6902", ["merge", "json"], { default: "merge" }),
  patch: json("the patch, as JSON"),
  patchFile: path("file with the patch, as JSON or YAML; - reads stdin"),
  service: text("service that --set is about", { placeholder: "<service>" }),
  set: list(keyValue("dotted key and value of the service's settings; a value is JSON where it can be read as such, else text")),
  dryRun: bool("print the patched group, change nothing", { aliases: ["--plan"] }),
  ...confirmFlags,
};

type Input = InputOf<typeof patchFlags>;
type Outcome = { readonly group: JsonObject } | ConfigUpdate;

export default defineCommand({
  summary: "Patch one resource group of the environment's spec config",
  description:
    "A merge patch replaces and adds what it names, and null deletes; a JSON patch is a list of operations. Other groups stay as they are, byte for byte. Of " +
    "services the server acts on `task`, with which tasks of the group run, and on `worker`, with which its resolvers do; all others are recorded.",
  examples: [
    { run: "svc environment patch --resource-group default --service engine-grpc --set replicas=2 --dry-run", does: "What it would be" },
    `svc environment patch --resource-group default --patch '{"services":{"engine-grpc":{"replicas":null}}}' --force`,
  ],
  needs: ["session"],
  flags: patchFlags,
  check({ patch, patchFile, patchType, service, set }) {
    if ((service !== undefined) !== set.length > 0) throw new UsageError("--service and --set go together");
    const given = [patch !== undefined, patchFile !== undefined, service !== undefined].filter(Boolean).length;
    if (given !== 1) throw new UsageError("give one of --patch, --patch-file, and --service with --set");
    if (service !== undefined && patchType === "json")
      throw new UsageError("--service and --set make a merge patch: leave out --patch-type json");
  },
  async run(context, input): Promise<OrRequest<Outcome>> {
    const { place, patch } = await givenPatch(context, input);
    const read = await (await context.api.environments()).getEnvironmentConfig({});
    const before = readConfigMessage(read.config);
    const group = resourceGroup(before.specs_config, input.resourceGroup);
    if (!group) throw noGroup(input.resourceGroup, groupNames(before.specs_config));
    const patched = patchedGroup(place, group, patch, input);
    const specs = withResourceGroup(before.specs_config, input.resourceGroup, patched);
    asCliError(place, () => checkConfig({ specs_config: specs }));
    if (input.dryRun) return { group: patched };
    const name = read.environment?.name ?? "";
    return writeConfig(context, read, { before, after: { ...before, specs_config: specs }, name }, input);
  },
  view: orRequestView(
    textView(
      (outcome: Outcome) => ("group" in outcome ? escapeUnseen(Bun.YAML.stringify(outcome.group, null, 2)) : updateText(outcome)),
      (outcome) => ("group" in outcome ? outcome.group : outcome),
    ),
  ),
});

/** The patch and the place that messages name. */
async function givenPatch(
  context: Context,
  { patch, patchFile, service, set }: Input,
): Promise<{ readonly place: string; readonly patch: Json }> {
  if (service !== undefined) return { place: "--set", patch: asCliError("--set", () => servicePatch(service, set)) };
  const { place, value } = patchFile === undefined ? { place: "--patch", value: patch } : await readValue(context, patchFile);
  if (value === undefined) throw new CliError(`${place} is empty`, { code: "bad_document" });
  try {
    return { place, patch: asJson(value) };
  } catch (error) {
    if (error instanceof RangeError) throw new CliError(`${place}: ${error.message}`, { code: "bad_document" });
    throw error;
  }
}

function patchedGroup(place: string, group: JsonObject, patch: Json, { patchType, resourceGroup: name }: Input): JsonObject {
  const isDefault = name === DEFAULT_GROUP;
  try {
    const operations = patchType === "json" ? readJsonPatch(patch) : undefined;
    if (isDefault && (operations?.some(touchesGroups) ?? (isJsonObject(patch) && Object.hasOwn(patch, GROUPS))))
      throw new CliError(`${place}: a patch of '${DEFAULT_GROUP}' may not change ${GROUPS}`, {
        code: "bad_patch",
        hint: "Name the group with --resource-group, or replace all of them with `svc environment update`.",
      });
    const patched = operations ? applyJsonPatch(group, operations) : applyMergePatch(group, patch);
    if (!isJsonObject(patched))
      throw new CliError(`${place}: a resource group has keys and values, and would be ${JSON.stringify(patched).slice(0, 60)}`, {
        code: "bad_patch",
      });
    if (!isDefault && patched.resource_group_name !== name)
      throw new CliError(`${place}: a patch may not rename a resource group`, { code: "bad_patch" });
    return patched;
  } catch (error) {
    if (error instanceof PatchRefused || error instanceof ConfigInvalid)
      throw new CliError(`${place}: ${error.message}`, { code: "bad_patch" });
    throw error;
  }
}

/** Whether an operation reads or writes the groups, or the whole that they are in. */
function touchesGroups(operation: PatchOperation): boolean {
  const paths = "from" in operation ? [operation.path, operation.from] : [operation.path];
  return paths.some(([first]) => first === GROUPS);
}

function noGroup(wanted: string, names: readonly string[]): CliError {
  return new CliError(`there is no resource group '${wanted}'`, {
    code: "not_found",
    hint: didYouMean(wanted, names) || `There is: ${names.join(", ")}.`,
  });
}
