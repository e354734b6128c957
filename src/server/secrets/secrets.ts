/**
 * Secrets of environments, sealed, and the environment variables that resolvers are given: the
 * secrets, and the variables of integrations. Failures never have a name or a value, because they
 * may be kept.
 */

import {
  environmentPrefix,
  INTEGRATION_KINDS,
  type IntegrationKind,
  integrationEnvironment,
  type Variables,
} from "../../domain/integrations.ts";
import { MAX_ENVIRONMENT_BYTES, MAX_SECRETS, secretNameProblem, secretValueProblem } from "../../domain/secret-name.ts";
import type { Sealer } from "../access/sealing.ts";
import { type Collection, type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import type { Integrations } from "./integrations.ts";
import { openSealed } from "./sealed-text.ts";

/** A secret, or a variable of an integration. */
export interface Secret {
  readonly name: string;
  /** Undefined when it cannot be opened. */
  readonly value: string | undefined;
  /** Name of the integration that it belongs to; empty = none. */
  readonly integration: string;
  /** Why it cannot be opened and what to do; empty when it can. */
  readonly problem: string;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

/** A secret to be set. */
export interface NewSecret {
  readonly name: string;
  readonly value: string;
}

/** What the sources and workers of an environment are given. */
export interface EnvironmentVariables {
  /** Environment variables of workers, which are secret. */
  readonly env: Variables;
  /** Environment variables of workers by the environment's configuration, which are not. */
  readonly plain: Variables;
  /** The integrations whose variables could be opened, by name. */
  readonly integrations: readonly { readonly name: string; readonly kind: IntegrationKind; readonly variables: Variables }[];
  /** Values that no log may have: those of secrets, and of secret variables of integrations. */
  readonly hidden: readonly string[];
  /** Number of secrets and integrations that could not be opened. */
  readonly unreadable: number;
}

/** The secrets of all environments. */
export interface Secrets {
  /** Secrets of an environment with the variables of its integrations, by name. */
  list(environmentId: string): Promise<Secret[]>;
  /** Those of some names. Rejects with Failure not_found. */
  find(environmentId: string, names: readonly string[]): Promise<Secret[]>;
  /** Rejects like `set` would, and changes nothing. */
  checkSet(environmentId: string, secrets: readonly NewSecret[]): Promise<void>;
  /**
   * Creates and replaces secrets. Rejects with Failure invalid_argument or resource_exhausted
   * before anything is changed.
   */
  set(environmentId: string, secrets: readonly NewSecret[]): Promise<Secret[]>;
  /** Rejects like `delete` would, and changes nothing. */
  checkDelete(environmentId: string, names: readonly string[]): Promise<void>;
  /**
   * Deletes secrets. Rejects with Failure not_found, or failed_precondition for a variable of an
   * integration, before anything is changed.
   */
  delete(environmentId: string, names: readonly string[]): Promise<Secret[]>;
  /** What resolvers are given now. */
  variables(environmentId: string): Promise<EnvironmentVariables>;
  /** Seals what another key sealed with the key that seals now; returns how many were. */
  reseal(signal: AbortSignal): Promise<number>;
  /** Number of secrets that another key sealed. */
  stale(): Promise<number>;
  close(): Promise<void>;
}

/** Kinds of documents that give workers variables. */
const GIVEN_KINDS: readonly string[] = ["secret", "integration", "environment-config"];

/**
 * The environments whose variables a notification of the bus is about, by its ids; undefined = all.
 */
export function environmentsToldOf(ids: ReadonlySet<string> | undefined): ReadonlySet<string> | undefined {
  if (!ids) return undefined;
  const told = [...ids].map((id) => id.split("/", 2)).filter(([kind = ""]) => GIVEN_KINDS.includes(kind));
  return new Set(told.map(([, scope = ""]) => scope));
}

/** What is stored of a secret. */
interface Content {
  readonly sealed: string;
  /** Bytes of name and value. */
  readonly bytes: number;
  readonly setAt: number;
}

const contextOf = (scope: string, name: string): string[] => [scope, "secret", name, "value"];

/** Makes the capability. */
export function createSecrets(
  parts: CollectionParts,
  sealer: Sealer,
  integrations: Integrations,
  plain: (environmentId: string) => Promise<Variables>,
): Secrets {
  const collection: Collection<Content> = createCollection<Content>(parts, {
    kind: "secret",
    noun: "secret",
    idPrefix: "sec",
    listedBy: "svc secret list",
    maxPerScope: MAX_SECRETS,
    maxBytes: 96 * 1024,
  });

  const read = async ({ name, scope, content }: Document<Content>): Promise<Secret> => {
    const opened = await openSealed(sealer, content.sealed, contextOf(scope, name));
    const known = { name, integration: "", updatedAt: content.setAt };
    return "problem" in opened ? { ...known, value: undefined, problem: opened.problem } : { ...known, value: opened.text, problem: "" };
  };

  const list = async (environmentId: string): Promise<Secret[]> => {
    const [own, all] = await Promise.all([collection.list(environmentId), integrations.list(environmentId)]);
    const variables = all.flatMap(({ name, problem, updatedAt, variableNames, variables: values }) =>
      variableNames.map((variable): Secret => {
        const injected = `${environmentPrefix(name)}_${variable}`;
        return { name: injected, value: values?.[variable], integration: name, problem, updatedAt };
      }),
    );
    return [...(await Promise.all(own.map(read))), ...variables].sort((a, b) => (a.name < b.name ? -1 : 1));
  };

  const missing = (count: number, of: number): Failure =>
    new Failure(
      "not_found",
      of === 1 ? "There is no secret of that name." : `${count} of the ${of} secrets do not exist; nothing was done.`,
      {
        hint: "`svc secret list` shows all.",
      },
    );

  const bytes = (name: string, value: string): number => Buffer.byteLength(name) + Buffer.byteLength(value);

  const checkSet = async (environmentId: string, secrets: readonly NewSecret[]): Promise<void> => {
    if (secrets.length === 0) throw new Failure("invalid_argument", "No secret was given.");
    for (const [index, { name, value }] of secrets.entries()) {
      const problem = secretNameProblem(name) ?? secretValueProblem(value);
      const what = secrets.length === 1 ? "The secret" : `Secret ${index + 1} of ${secrets.length}`;
      if (problem !== undefined) throw new Failure("invalid_argument", `${what} ${problem}.`);
    }
    const values = new Map(secrets.map(({ name, value }) => [name, value]));
    if (values.size < secrets.length) throw new Failure("invalid_argument", "A name was given twice.");
    const others = (await collection.list(environmentId)).filter(({ name }) => !values.has(name));
    const total =
      others.reduce((sum, { content }) => sum + content.bytes, 0) + secrets.reduce((sum, one) => sum + bytes(one.name, one.value), 0);
    if (others.length + values.size > MAX_SECRETS)
      throw new Failure("resource_exhausted", `An environment has at most ${MAX_SECRETS} secrets.`, {
        hint: "Delete those that are not needed.",
      });
    if (total > MAX_ENVIRONMENT_BYTES)
      throw new Failure(
        "resource_exhausted",
        `The secrets of the environment would take ${total} bytes, and ${MAX_ENVIRONMENT_BYTES} are the most.`,
      );
  };

  /** The secrets of some names, which can be deleted. Rejects with Failure. */
  const deletable = async (environmentId: string, names: readonly string[]): Promise<Secret[]> => {
    const all = await list(environmentId);
    const wanted = [...new Set(names)];
    const own = all.filter(({ name, integration }) => integration === "" && wanted.includes(name));
    const absent = wanted.filter((name) => !own.some((one) => one.name === name));
    const owner = all.find(({ name }) => absent.includes(name))?.integration;
    if (owner !== undefined)
      throw new Failure(
        "failed_precondition",
        `A variable of the integration '${owner}' cannot be deleted by itself; nothing was deleted.`,
        {
          hint: "`svc integration apply` changes the variables of an integration, `svc integration delete` takes them along.",
        },
      );
    if (absent.length > 0 || wanted.length === 0) throw missing(absent.length, Math.max(1, wanted.length));
    return own;
  };

  return {
    list,

    async find(environmentId, names) {
      const wanted = new Set(names);
      const found = (await list(environmentId)).filter(({ name }) => wanted.has(name));
      const there = new Set(found.map(({ name }) => name));
      if (there.size < wanted.size) throw missing(wanted.size - there.size, wanted.size);
      return found;
    },

    checkSet,
    async set(environmentId, secrets) {
      await checkSet(environmentId, secrets);
      const set: Secret[] = [];
      for (const { name, value } of secrets) {
        const content = {
          sealed: await sealer.seal(value, contextOf(environmentId, name)),
          bytes: bytes(name, value),
          setAt: parts.clock.now(),
        };
        set.push(await read(await collection.put(environmentId, name, () => content)));
      }
      return set.sort((a, b) => (a.name < b.name ? -1 : 1));
    },

    checkDelete: async (environmentId, names) => void (await deletable(environmentId, names)),
    async delete(environmentId, names) {
      const own = await deletable(environmentId, names);
      for (const { name } of own) {
        const document = await collection.find(environmentId, name);
        if (document) await collection.delete(environmentId, document.id).catch(ignoreGone);
      }
      return own;
    },

    async variables(environmentId) {
      const [own, all] = await Promise.all([
        collection.list(environmentId).then((documents) => Promise.all(documents.map(read))),
        integrations.list(environmentId),
      ]);
      const readable = all.flatMap(({ name, kind, variables }) => (variables ? [{ name, kind, variables }] : []));
      const secrets = own.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]));
      return {
        env: { ...integrationEnvironment(readable), ...Object.fromEntries(secrets) },
        plain: await plain(environmentId),
        integrations: readable,
        hidden: [...secrets.map(([, value]) => value), ...readable.flatMap(secretValues)],
        unreadable: own.length - secrets.length + all.length - readable.length,
      };
    },

    async reseal(signal) {
      let count = 0;
      for (const { id, scope, name, content } of await collection.list()) {
        signal.throwIfAborted();
        if (sealer.isCurrent(content.sealed) || "problem" in (await openSealed(sealer, content.sealed, contextOf(scope, name)))) continue;
        await collection
          .update(scope, id, async (document) => ({
            content: {
              ...document.content,
              sealed: await sealer.seal(await sealer.open(document.content.sealed, contextOf(scope, name)), contextOf(scope, name)),
            },
          }))
          .catch(ignoreGone);
        count++;
      }
      return count;
    },
    stale: async () => (await collection.list()).filter(({ content }) => !sealer.isCurrent(content.sealed)).length,
    close: () => collection.close(),
  };
}

function secretValues({ kind, variables }: { readonly kind: IntegrationKind; readonly variables: Variables }): string[] {
  return INTEGRATION_KINDS[kind].flatMap(({ isSecret, name }) => (isSecret ? (variables[name] ?? []) : []));
}

/** Somebody else deleted it meanwhile. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof Failure) || error.kind !== "not_found") throw error;
}
