/** Integrations of environments, with their variables sealed. */

import { environmentPrefix, type IntegrationKind, integrationProblem, type Variables } from "../../domain/integrations.ts";
import { MAX_ENVIRONMENT_BYTES } from "../../domain/secret-name.ts";
import type { Sealer } from "../access/sealing.ts";
import { type Collection, type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { openSealed } from "./sealed-text.ts";

/** An integration. */
export interface Integration {
  readonly id: string;
  readonly name: string;
  readonly kind: IntegrationKind;
  /** Values by variable; undefined when they cannot be opened. */
  readonly variables: Variables | undefined;
  /** Names of its variables. */
  readonly variableNames: readonly string[];
  /** Why the values cannot be opened and what to do; empty when they can. */
  readonly problem: string;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

/** An integration to be created, or to take the place of the one of its name. */
export interface NewIntegration {
  readonly name: string;
  readonly kind: string;
  readonly variables: Variables;
  /** Whether there may be none of its name. */
  readonly mustBeNew: boolean;
}

/** The integrations of all environments. */
export interface Integrations {
  /** Integrations of an environment, by name. */
  list(environmentId: string): Promise<Integration[]>;
  /** The integration of an id or name. Rejects with Failure not_found. */
  get(environmentId: string, idOrName: string): Promise<Integration>;
  /** Rejects like `apply` would, and changes nothing. */
  check(environmentId: string, given: NewIntegration): Promise<void>;
  /**
   * Creates an integration, or replaces its kind and variables. Rejects with Failure
   * invalid_argument, resource_exhausted, or already_exists when it must be new.
   */
  apply(environmentId: string, given: NewIntegration): Promise<{ readonly integration: Integration; readonly isNew: boolean }>;
  /** Deletes integrations. Rejects with Failure not_found before anything is changed. */
  delete(environmentId: string, idsOrNames: readonly string[]): Promise<Integration[]>;
  /** Seals what another key sealed with the key that seals now; returns how many were. */
  reseal(signal: AbortSignal): Promise<number>;
  /** Number of integrations that another key sealed. */
  stale(): Promise<number>;
  close(): Promise<void>;
}

/** What is stored of an integration. */
interface Content {
  readonly kind: IntegrationKind;
  readonly variableNames: readonly string[];
  /** The variables as JSON, sealed. */
  readonly sealed: string;
  /** Bytes of names and values. */
  readonly bytes: number;
  readonly setAt: number;
}

const MAX_INTEGRATIONS = 200;
const bytesOf = (variables: Variables): number => Buffer.byteLength(JSON.stringify(variables));
const contextOf = (scope: string, name: string): string[] => [scope, "integration", name, "variables"];

/** Makes the capability. */
export function createIntegrations(parts: CollectionParts, sealer: Sealer): Integrations {
  const collection: Collection<Content> = createCollection<Content>(parts, {
    kind: "integration",
    noun: "integration",
    idPrefix: "int",
    listedBy: "svc integration list",
    maxPerScope: MAX_INTEGRATIONS,
    maxBytes: 96 * 1024,
  });

  const read = async ({ id, name, scope, content }: Document<Content>): Promise<Integration> => {
    const { kind, variableNames, sealed, setAt } = content;
    const opened = await openSealed(sealer, sealed, contextOf(scope, name));
    const known = { id, name, kind, variableNames, updatedAt: setAt };
    if ("problem" in opened) return { ...known, variables: undefined, problem: opened.problem };
    return { ...known, variables: JSON.parse(opened.text) as Variables, problem: "" };
  };

  const check = async (environmentId: string, { name, kind, variables, mustBeNew }: NewIntegration): Promise<void> => {
    const problem = integrationProblem(name, kind, variables);
    if (problem !== undefined) throw new Failure("invalid_argument", problem);
    const all = await collection.list(environmentId);
    if (mustBeNew && all.some((one) => one.name === name))
      throw new Failure("already_exists", `There is an integration '${name}' already.`, { hint: "`svc integration list` shows all." });
    const others = all.filter((other) => other.name !== name);
    const alike = others.find((other) => environmentPrefix(other.name) === environmentPrefix(name));
    if (alike)
      throw new Failure(
        "invalid_argument",
        `The variables of '${name}' and of the integration '${alike.name}' would have the same names.`,
        {
          hint: "Choose another name.",
        },
      );
    const total = others.reduce((sum, other) => sum + other.content.bytes, bytesOf(variables));
    if (total > MAX_ENVIRONMENT_BYTES)
      throw new Failure("resource_exhausted", `The integrations would take ${total} bytes, and ${MAX_ENVIRONMENT_BYTES} are the most.`);
  };

  return {
    list: async (environmentId) => Promise.all((await collection.list(environmentId)).map(read)),
    get: async (environmentId, idOrName) => read(await collection.get(environmentId, idOrName)),

    check,
    async apply(environmentId, { name, kind, variables, mustBeNew }) {
      await check(environmentId, { name, kind, variables, mustBeNew: false });
      const content: Content = {
        kind: kind as IntegrationKind,
        variableNames: Object.keys(variables).sort(),
        sealed: await sealer.seal(JSON.stringify(variables), contextOf(environmentId, name)),
        bytes: bytesOf(variables),
        setAt: parts.clock.now(),
      };
      let isNew = true;
      const document = mustBeNew
        ? await collection.create(environmentId, name, content)
        : await collection.put(environmentId, name, (before) => {
            isNew = before === undefined;
            return content;
          });
      return { integration: await read(document), isNew };
    },

    async delete(environmentId, idsOrNames) {
      const found = await Promise.all([...new Set(idsOrNames)].map((idOrName) => collection.get(environmentId, idOrName)));
      const deleted: Integration[] = [];
      for (const id of new Set(found.map((document) => document.id))) deleted.push(await read(await collection.delete(environmentId, id)));
      return deleted.sort((a, b) => (a.name < b.name ? -1 : 1));
    },

    async reseal(signal) {
      let count = 0;
      for (const { id, scope, name, content } of await collection.list()) {
        signal.throwIfAborted();
        if (sealer.isCurrent(content.sealed) || "problem" in (await openSealed(sealer, content.sealed, contextOf(scope, name)))) continue;
        await collection.update(scope, id, async (document) => ({
          content: {
            ...document.content,
            sealed: await sealer.seal(await sealer.open(document.content.sealed, contextOf(scope, name)), contextOf(scope, name)),
          },
        }));
        count++;
      }
      return count;
    },
    stale: async () => (await collection.list()).filter(({ content }) => !sealer.isCurrent(content.sealed)).length,
    close: () => collection.close(),
  };
}
