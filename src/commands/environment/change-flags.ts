/**
 * Changes of an environment's configuration: shown, asked for, written with the etag that was read.
 */

import type { GetEnvironmentConfigResponse } from "../../../gen/svc/v1/environment_pb.ts";
import type { Context } from "../../context/context.ts";
import {
  APPLIED_KEYS,
  APPLIED_SERVICES,
  ConfigInvalid,
  configDocument,
  type EnvironmentConfig,
  groupNames,
  resourceGroup,
} from "../../domain/environment-config.ts";
import { configMessage } from "../../domain/environment-config-message.ts";
import { changesText, jsonChanges } from "../../domain/json-diff.ts";
import type { JsonObject } from "../../domain/json-value.ts";
import { escapeControls } from "../../domain/name.ts";
import { withoutService } from "../../domain/service-settings.ts";
import { CliError } from "../../errors/cli-error.ts";
import { textView, type View } from "../../output/view.ts";
import { isRequest, type OrRequest, orRequestView } from "../approval/approval-view.ts";
import { orRequest } from "../approval/flags.ts";
import { confirm } from "../confirm-flags.ts";

/** What a change did. */
export interface ConfigUpdate {
  readonly id: string;
  readonly name: string;
  /** Keys whose values changed. */
  readonly changed: readonly string[];
  /** Those among them that this server keeps and does not act on. */
  readonly recorded_not_applied: readonly string[];
}

/**
 * Shows the changes, asks, and writes them. Rejects with AbortedError when the user says no, and
 * with a CliError `aborted` when somebody else changed the configuration since it was read.
 */
export async function writeConfig(
  context: Context,
  read: GetEnvironmentConfigResponse,
  { before, after, name }: { readonly before: EnvironmentConfig; readonly after: EnvironmentConfig; readonly name: string },
  { force }: { readonly force: boolean },
): Promise<OrRequest<ConfigUpdate>> {
  const { progress } = context;
  const { id = "", name: oldName = "" } = read.environment ?? {};
  const changes = jsonChanges(configDocument({ id, name: oldName }, before), configDocument({ id, name }, after));
  const changed = [...new Set(changes.map(({ path }) => String(path[0]).replace("specs_config_json", "specs_config")))];
  const isRecorded = (key: string): boolean =>
    key === "specs_config"
      ? unappliedSpecs(before.specs_config) !== unappliedSpecs(after.specs_config)
      : key !== "name" && !APPLIED_KEYS.includes(key as keyof EnvironmentConfig);
  const recorded = changed.filter(isRecorded);
  const update: ConfigUpdate = { id, name, changed, recorded_not_applied: recorded };
  if (changes.length === 0) return update;
  progress.note(changesText(changes));
  if (recorded.length > 0)
    progress.note(
      `recorded, not applied: ${recorded.join(", ")} (this server acts on ${APPLIED_KEYS.join(", ")}, and of specs_config on ${APPLIED_SERVICES.map((name) => `services.${name}`).join(" and ")})`,
    );
  await confirm(context, { force }, `Update environment '${escapeControls(oldName)}'?`);
  const answer = await (await context.api.environments()).updateEnvironmentConfig({
    environmentId: id,
    name: name === oldName ? "" : name,
    config: configMessage(after),
    etag: read.etag,
  });
  const requested = await orRequest(context, answer);
  return isRequest(requested) ? requested : update;
}

/** What a spec config has beside the settings of resource groups that the server acts on. */
function unappliedSpecs(specs: JsonObject): string {
  const unapplied = (name: string): JsonObject => {
    const { resource_group_name: _, ...group } = resourceGroup(specs, name) ?? {};
    return APPLIED_SERVICES.reduce(withoutService, group);
  };
  const rests = groupNames(specs).map((name) => [name, unapplied(name)] as const);
  return JSON.stringify(rests.filter(([, rest]) => Object.keys(rest).length > 0));
}

/** `Updated environment '<name>'`. */
export const updateText = ({ name, changed }: ConfigUpdate): string =>
  changed.length > 0
    ? `Updated environment '${escapeControls(name)}'`
    : `Environment '${escapeControls(name)}' is as it was: nothing differs`;

/** The view of a change. */
export const configUpdateView: View<OrRequest<ConfigUpdate>> = orRequestView(textView(updateText));

/**
 * What `make` returns. Throws a rule that is broken as a CliError that names the input's place.
 */
export function asCliError<T>(place: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof ConfigInvalid) throw new CliError(`${place}: ${error.message}`, { code: "bad_document" });
    throw error;
  }
}
