/**
 * The configurations of environments. Each is a document of its environment; changes carry the etag
 * of the state that they were made from.
 */

import { parseDuration } from "../../domain/duration.ts";
import { ConfigInvalid, checkConfig, type EnvironmentConfig, NO_CONFIG } from "../../domain/environment-config.ts";
import { quantityValue } from "../../domain/quantity.ts";
import { type CollectionParts, createCollection, type Document, etagOf } from "../documents/collection.ts";
import { Failure } from "../failure.ts";

/** A configuration, and the etag of its state. */
export interface StoredConfig {
  readonly config: EnvironmentConfig;
  readonly etag: string;
}

/** The configurations. */
export interface Configurations {
  /** The configuration of an environment; one in which nothing is set when none was stored. */
  get(environmentId: string): Promise<StoredConfig>;
  /** Which environments are protected, as is stored now. */
  readonly protection: {
    isProtected(environmentId: string): Promise<boolean>;
    /** Ids of all that are. */
    all(): Promise<ReadonlySet<string>>;
  };
  /** Additional environment variables of the workers of every environment that has some, by id. */
  variables(): Promise<ReadonlyMap<string, EnvironmentConfig["additional_env_vars"]>>;
  /** Limits of the history of every environment that has some, by id. */
  historyLimits(): Promise<ReadonlyMap<string, { readonly maxAgeMs: number | undefined; readonly maxBytes: number | undefined }>>;
  /** Labels of every environment that has some, by id. */
  labels(): Promise<ReadonlyMap<string, EnvironmentConfig["labels"]>>;
  /** Throws Failure invalid_argument when a configuration breaks a rule. */
  check(config: EnvironmentConfig): void;
  /**
   * Replaces the configuration that an etag was given for; resolves with the new etag. Rejects with
   * Failure aborted when it is another by now, and invalid_argument when it breaks a rule.
   */
  replace(environmentId: string, config: EnvironmentConfig, etag: string): Promise<string>;
}

/** Name of the one document that an environment has. */
const NAME = "configuration";
/** Etag before anything was stored. */
const UNSET = '"0"';
const MAX_BYTES = 200_000;

/** Makes the configurations. */
export function createConfigurations(parts: CollectionParts): Configurations {
  const documents = createCollection<EnvironmentConfig>(parts, {
    kind: "environment-config",
    noun: "configuration",
    idPrefix: "cfg",
    listedBy: "svc environment config",
    maxPerScope: 1,
    maxBytes: MAX_BYTES,
  });
  const stored = (document: Document<EnvironmentConfig>): StoredConfig => ({
    config: { ...NO_CONFIG, ...document.content },
    etag: etagOf(document),
  });
  /** A member of every configuration that has some of it, by environment. */
  const everyOne = async <Key extends "additional_env_vars" | "labels">(key: Key) => {
    const all = (await documents.list()).map(({ scope, content }) => [scope, content[key] ?? {}] as const);
    return new Map(all.filter(([, values]) => Object.keys(values).length > 0));
  };
  const aborted = (): Failure =>
    new Failure("aborted", "Somebody else changed the configuration meanwhile; nothing was changed.", {
      hint: "Read it again with `svc environment config`, and make the change anew.",
    });

  const check = (config: EnvironmentConfig): void => {
    try {
      checkConfig(config);
    } catch (error) {
      if (error instanceof ConfigInvalid) throw new Failure("invalid_argument", `The configuration is not valid: ${error.message}.`);
      throw error;
    }
  };

  return {
    check,

    async get(environmentId) {
      const document = await documents.find(environmentId, NAME);
      return document ? stored(document) : { config: NO_CONFIG, etag: UNSET };
    },

    variables: () => everyOne("additional_env_vars"),
    labels: () => everyOne("labels"),
    async historyLimits() {
      const all = (await documents.list()).map(({ scope, content: { history_max_age: age = "", history_max_size: size = "" } }) => {
        return [scope, { maxAgeMs: parseDuration(age), maxBytes: quantityValue(size) }] as const;
      });
      return new Map(all.filter(([, { maxAgeMs, maxBytes }]) => maxAgeMs !== undefined || maxBytes !== undefined));
    },

    protection: {
      isProtected: async (environmentId) => (await documents.find(environmentId, NAME))?.content.protected === true,
      all: async () => new Set((await documents.list()).filter(({ content }) => content.protected).map(({ scope }) => scope)),
    },

    async replace(environmentId, config, etag) {
      check(config);
      try {
        if (etag === UNSET) return etagOf(await documents.create(environmentId, NAME, config));
        return etagOf(await documents.update(environmentId, NAME, () => ({ content: config }), etag));
      } catch (error) {
        const isStale = error instanceof Failure && ["already_exists", "resource_exhausted", "not_found", "aborted"].includes(error.kind);
        throw isStale ? aborted() : error;
      }
    },
  };
}
