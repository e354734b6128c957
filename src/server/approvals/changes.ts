/**
 * The changes of an environment that may need approval: what each checks before it is asked for,
 * and how it is made afterwards. A change is made by a job that may begin again anywhere: what is
 * as it is to be already stays, and what was changed by others since it was asked for is refused.
 */

import { configDocument, type EnvironmentConfig } from "../../domain/environment-config.ts";
import { jsonChanges } from "../../domain/json-diff.ts";
import type { Configurations } from "../environments/configuration.ts";
import type { EnvironmentLifecycle } from "../environments/lifecycle.ts";
import { Failure } from "../failure.ts";
import type { Integration, Integrations, NewIntegration } from "../secrets/integrations.ts";
import type { NewSecret, Secret, Secrets } from "../secrets/secrets.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import { changedFeatures, isValueChange, type ValueChange, type ValueChanges, valueNames, versionsChanged } from "./value-changes.ts";

/** A change of an environment. */
export type Change =
  | { readonly kind: "secret.set"; readonly secrets: readonly NewSecret[] }
  | { readonly kind: "secret.delete"; readonly names: readonly string[] }
  | { readonly kind: "integration.apply"; readonly integration: NewIntegration }
  | { readonly kind: "integration.delete"; readonly names: readonly string[] }
  | ConfigurationChange
  | ValueChange;

/** A change of what is set. */
type SettingChange = Exclude<Change, ValueChange>;

/** A new configuration of an environment. */
export interface ConfigurationChange {
  readonly kind: "configuration";
  /** The environment's new name; empty = it stays. */
  readonly name: string;
  readonly config: EnvironmentConfig;
  /** Etag of the configuration that it was made from. */
  readonly etag: string;
}

/** A change with the state that it was asked for in. */
export interface PinnedChange {
  readonly change: Change;
  /**
   * When each thing that it changes was last set, by name; 0 = it was not there. Of features the
   * numbers of their versions.
   */
  readonly setAt: Readonly<Record<string, number>>;
}

/** The capabilities that make changes. */
export interface ChangeParts {
  readonly secrets: Secrets;
  readonly integrations: Integrations;
  readonly configurations: Configurations;
  readonly lifecycle: EnvironmentLifecycle;
  readonly values: ValueChanges;
}

/** The changes of environments. */
export interface Changes {
  /** Rejects with the Failure of making the change, and changes nothing. */
  check(environment: EnvironmentRecord, change: Change): Promise<void>;
  /** What would change, for people: names without values, and of a configuration its changes. */
  names(environment: EnvironmentRecord, change: Change): Promise<readonly string[]>;
  /** The change with the present state. */
  pin(environment: EnvironmentRecord, change: Change): Promise<PinnedChange>;
  /**
   * Makes a change, unless it was made before. Rejects with Failure, failed_precondition when
   * others changed the same since it was pinned.
   */
  make(environment: EnvironmentRecord, pinned: PinnedChange): Promise<void>;
  /** Removes what was kept for a change that is made, or will not be. */
  discard(change: Change): Promise<void>;
}

/** A thing that can be set and deleted. */
type Settable = Pick<Secret, "name" | "updatedAt">;

/** Lines that tell how a configuration changes, and characters of each, at most. */
const MAX_LINES = 50;
const MAX_LINE = 200;

/** Makes the changes of environments. */
export function createChanges({ secrets, integrations, configurations, lifecycle, values }: ChangeParts): Changes {
  const ownSecrets = async ({ id }: EnvironmentRecord): Promise<readonly Secret[]> =>
    (await secrets.list(id)).filter(({ integration }) => integration === "");
  /** The integrations of ids or names; those that are gone are left out. */
  const integrationsOf = async ({ id }: EnvironmentRecord, idsOrNames: readonly string[]): Promise<readonly Integration[]> =>
    (await integrations.list(id)).filter((one) => idsOrNames.includes(one.id) || idsOrNames.includes(one.name));
  const isStale = async (environment: EnvironmentRecord, etag: string): Promise<boolean> =>
    (await configurations.get(environment.id)).etag !== etag;

  const things = async (environment: EnvironmentRecord, { kind }: SettingChange): Promise<readonly Settable[]> => {
    if (kind === "configuration") return [];
    return kind.startsWith("secret") ? ownSecrets(environment) : integrations.list(environment.id);
  };

  const names: Changes["names"] = async (environment, change) => {
    if (isValueChange(change)) return valueNames(change);
    switch (change.kind) {
      case "secret.set":
        return change.secrets.map(({ name }) => name);
      case "secret.delete":
        return change.names;
      case "integration.apply":
        return [change.integration.name];
      case "integration.delete":
        return (await integrationsOf(environment, change.names)).map(({ name }) => name);
      case "configuration":
        return configurationChanges(environment, (await configurations.get(environment.id)).config, change);
    }
  };

  return {
    names,

    async check(environment, change) {
      const { id } = environment;
      if (isValueChange(change)) return values.check(environment, change);
      switch (change.kind) {
        case "secret.set":
          return secrets.checkSet(id, change.secrets);
        case "secret.delete":
          return secrets.checkDelete(id, change.names);
        case "integration.apply":
          return integrations.check(id, change.integration);
        case "integration.delete":
          for (const name of change.names) await integrations.get(id, name);
          return;
        case "configuration":
          if (change.name !== "") await lifecycle.checkRename(environment, change.name);
          configurations.check(change.config);
          if (await isStale(environment, change.etag)) throw changedSince("the configuration");
      }
    },

    async pin(environment, change) {
      if (isValueChange(change)) return { change, setAt: await values.versions(environment, change) };
      const there = await things(environment, change);
      const at = (name: string): number => there.find((one) => one.name === name)?.updatedAt ?? 0;
      return { change, setAt: Object.fromEntries((await names(environment, change)).map((name) => [name, at(name)])) };
    },

    async make(environment, { change, setAt }) {
      const { id } = environment;
      if (isValueChange(change)) {
        if (await values.isMade(change)) return;
        const now = await values.versions(environment, change);
        const changed = changedFeatures(change).filter((fqn) => now[fqn] !== setAt[fqn]);
        if (changed.length > 0) throw versionsChanged(changed);
        return values.make(environment, change);
      }
      const there = await things(environment, change);
      const refuseChanged = (name: string, what: string): void => {
        if ((there.find((one) => one.name === name)?.updatedAt ?? 0) !== setAt[name]) throw changedSince(what);
      };
      switch (change.kind) {
        case "secret.set": {
          const now = await ownSecrets(environment);
          const missing = change.secrets.filter(({ name, value }) => now.find((one) => one.name === name)?.value !== value);
          for (const { name } of missing) refuseChanged(name, "one of the secrets");
          if (missing.length > 0) await secrets.set(id, missing);
          return;
        }
        case "secret.delete": {
          const left = change.names.filter((name) => there.some((one) => one.name === name));
          for (const name of left) refuseChanged(name, "one of the secrets");
          if (left.length > 0) await secrets.delete(id, left);
          return;
        }
        case "integration.apply": {
          const { kind, name, variables } = change.integration;
          const now = (await integrations.list(id)).find((one) => one.name === name);
          if (now?.kind === kind && Bun.deepEquals(now.variables, variables)) return;
          refuseChanged(name, `the integration '${name}'`);
          await integrations.apply(id, change.integration);
          return;
        }
        case "integration.delete": {
          const left = await integrationsOf(environment, change.names);
          for (const { name } of left) refuseChanged(name, `the integration '${name}'`);
          if (left.length > 0)
            await integrations.delete(
              id,
              left.map((one) => one.id),
            );
          return;
        }
        case "configuration": {
          const now = await configurations.get(id);
          if (now.etag === change.etag) await configurations.replace(id, change.config, change.etag);
          else if (!Bun.deepEquals(now.config, change.config)) throw changedSince("the configuration");
          if (change.name !== "" && change.name !== environment.name) await lifecycle.rename(environment, change.name);
          lifecycle.changed(environment);
        }
      }
    },

    async discard(change) {
      if (isValueChange(change)) await values.discard(change);
    },
  };
}

/** The values of a configuration that change, a line each; readers see them anyway. */
function configurationChanges({ id, name }: EnvironmentRecord, before: EnvironmentConfig, change: ConfigurationChange): string[] {
  const after = configDocument({ id, name: change.name || name }, change.config);
  const changes = jsonChanges(configDocument({ id, name }, before), after);
  const lines = changes.map(({ path, before: old, after: next }) => `${path.join(".")}: ${JSON.stringify(old)} -> ${JSON.stringify(next)}`);
  const shown = lines.slice(0, MAX_LINES).map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}...` : line));
  return lines.length > MAX_LINES ? [...shown, `${lines.length - MAX_LINES} more`] : shown;
}

function changedSince(what: string): Failure {
  return new Failure("failed_precondition", `Somebody changed ${what} since this was asked for, so nothing was changed.`, {
    hint: "Look at it, and ask anew.",
  });
}
