/**
 * The configuration of an environment: the shape that `environment config` prints and `environment
 * update` takes, its rules, and its resource groups.
 */

import { didYouMean } from "./closest.ts";
import { parseDuration } from "./duration.ts";
import { variablesProblem } from "./environment-variables.ts";
import { asJson, isJsonObject, type Json, type JsonObject, jsonObject, member } from "./json-value.ts";
import { escapeControls } from "./name.ts";
import { quantityValue } from "./quantity.ts";
import { taskServiceProblem } from "./task-service.ts";

/** The places of an environment's objects: URIs of object stores. */
export const BUCKETS = ["dataset_bucket", "plan_stages_bucket", "source_bundle_bucket", "model_registry_bucket"] as const;

/** The name of a bucket's role. */
export type Bucket = (typeof BUCKETS)[number];

/** The configuration. What is unset is empty. */
export interface EnvironmentConfig {
  /**
   * Settings of services by resource group; those beside `resource_groups` are of the default one.
   */
  readonly specs_config: JsonObject;
  /** Environment variables of resolvers. */
  readonly additional_env_vars: Readonly<Record<string, string>>;
  /** URLs. */
  readonly private_pip_repositories: readonly string[];
  /** Name of a secret. */
  readonly online_store_secret: string;
  /** Name of a secret. */
  readonly feature_store_secret: string;
  readonly environment_buckets: Readonly<Partial<Record<Bucket, string>>>;
  /** Values by keys that people choose, by which usage is added up. */
  readonly labels: Readonly<Record<string, string>>;
  /** Whether another person approves changes of the environment. */
  readonly protected: boolean;
  /** Age above which observations are removed from the history, such as `365d`; empty = none is. */
  readonly history_max_age: string;
  /**
   * Size of the history above which the oldest observations are removed, such as `100Gi`; empty =
   * none is.
   */
  readonly history_max_size: string;
  readonly worker_container: WorkerContainer;
}

/** The containers in which the code of deployments runs. What is empty is not limited. */
export interface WorkerContainer {
  /** Image that requirements are added to; empty = it runs in processes beside the server. */
  readonly image: string;
  /** Most memory, such as `512Mi`. */
  readonly memory: string;
  /** Processors, such as `500m` or `2`. */
  readonly cpu: string;
  /** Whether they have a network. */
  readonly network: boolean;
}

/** A configuration in which nothing is set. */
export const NO_CONFIG: EnvironmentConfig = {
  specs_config: {},
  additional_env_vars: {},
  private_pip_repositories: [],
  online_store_secret: "",
  feature_store_secret: "",
  environment_buckets: {},
  labels: {},
  protected: false,
  history_max_age: "",
  history_max_size: "",
  worker_container: { image: "", memory: "", cpu: "", network: false },
};

/**
 * The keys whose values this server acts on; the others are recorded and returned, but for the
 * service `task` of resource groups.
 */
export const APPLIED_KEYS: readonly (keyof EnvironmentConfig)[] = [
  "additional_env_vars",
  "labels",
  "protected",
  "history_max_age",
  "history_max_size",
  "worker_container",
];

/** A configuration breaks a rule; the message names the key. */
export class ConfigInvalid extends Error {
  override readonly name = "ConfigInvalid";
}

/** A change of a configuration: what is absent stays. */
export interface ConfigChange {
  /** Id of the environment that the change is meant for. */
  readonly id?: string;
  /** The environment's new name. */
  readonly name?: string;
  readonly config: Partial<EnvironmentConfig>;
}

const MAX_REPOSITORIES = 100;
const MAX_TEXT = 4_096;
const MAX_LABELS = 50;
const MAX_LABEL = 100;
/** Least age and size of a history that is bounded: what is less would be a mistake. */
const LEAST_AGE_MS = 3_600_000;
const LEAST_SIZE = 1024 ** 2;
/** Least memory of a worker: with less no Python starts. */
const LEAST_WORKER_MEMORY = 32 * 1024 ** 2;
const KEYS = ["id", "name", "specs_config", "specs_config_json", ...Object.keys(NO_CONFIG).filter((key) => key !== "specs_config")];

/**
 * Reads a change from a document, whose keys are those of `environment config`. Null unsets a key.
 * Throws ConfigInvalid.
 */
export function readConfigChange(document: Readonly<Record<string, unknown>>): ConfigChange {
  const given = jsonOf(document);
  for (const key of Object.keys(given)) {
    const near = didYouMean(key, KEYS);
    if (!KEYS.includes(key)) throw new ConfigInvalid(`there is no key '${key}'${near ? `; ${near}` : `: the keys are ${KEYS.join(", ")}`}`);
  }
  const specs = member(given, "specs_config_json");
  if (specs !== undefined && member(given, "specs_config") !== undefined)
    throw new ConfigInvalid("specs_config and specs_config_json are the same key: give one");
  const values: JsonObject = specs === undefined ? given : { ...given, specs_config: specs };
  const text = (key: "id" | "name"): Partial<Record<"id" | "name", string>> => {
    const value = member(given, key);
    if (value === undefined) return {};
    if (typeof value !== "string" || value === "") throw new ConfigInvalid(`${key}: expected text`);
    return { [key]: value };
  };
  const config: Partial<Record<keyof EnvironmentConfig, unknown>> = {};
  for (const key of Object.keys(NO_CONFIG) as (keyof EnvironmentConfig)[]) {
    const value = member(values, key);
    if (value !== undefined) config[key] = value === null ? NO_CONFIG[key] : value;
  }
  checkConfig(config);
  if (isJsonObject(member(values, "environment_buckets")) && Object.keys(config.environment_buckets as object).length === 0)
    throw new ConfigInvalid(`environment_buckets: expected at least one of ${BUCKETS.join(", ")}`);
  const { worker_container: container } = config;
  const whole = container && { worker_container: { ...NO_CONFIG.worker_container, ...container } };
  return { ...text("id"), ...text("name"), config: { ...config, ...whole } as Partial<EnvironmentConfig> };
}

function jsonOf(document: unknown): JsonObject {
  try {
    return asJson(document) as JsonObject;
  } catch (error) {
    if (error instanceof RangeError) throw new ConfigInvalid(error.message);
    throw error;
  }
}

/** The configuration after a change: buckets that the change does not name stay. */
export function changedConfig(before: EnvironmentConfig, { config }: ConfigChange): EnvironmentConfig {
  const { environment_buckets: buckets } = config;
  if (!buckets || Object.keys(buckets).length === 0) return { ...before, ...config };
  return { ...before, ...config, environment_buckets: { ...before.environment_buckets, ...buckets } };
}

/** Throws ConfigInvalid when a value has a wrong type or breaks a rule. */
export function checkConfig(
  config: Readonly<Partial<Record<keyof EnvironmentConfig, unknown>>>,
): asserts config is Partial<EnvironmentConfig> {
  for (const [key, value] of Object.entries(config)) CHECKS[key as keyof EnvironmentConfig](value as Json, key);
}

/** The form of a label's key. */
const LABEL_KEY = new RegExp(`^[A-Za-z][A-Za-z0-9._/-]{0,${MAX_LABEL - 1}}$`);

const CHECKS: Readonly<Record<keyof EnvironmentConfig, (value: Json, key: string) => void>> = {
  specs_config: checkSpecs,
  additional_env_vars: (value, key) => throwAt(variablesProblem(value, key)),
  private_pip_repositories(value, key) {
    if (!Array.isArray(value)) throw new ConfigInvalid(`${key}: expected a list of URLs`);
    if (value.length > MAX_REPOSITORIES) throw new ConfigInvalid(`${key}: there are at most ${MAX_REPOSITORIES}`);
    value.forEach((url: Json, index) => {
      textAt(url, `${key}[${index}]`);
      const parsed = URL.parse(url as string);
      if (!parsed || !/^https?:$/.test(parsed.protocol))
        throw new ConfigInvalid(`${key}[${index}]: expected a URL such as https://pypi.example.com/simple`);
      if (parsed.username || parsed.password)
        throw new ConfigInvalid(
          `${key}[${index}]: a URL here is readable by everybody who may read settings; keep its password in a secret`,
        );
    });
  },
  online_store_secret: (value, key) => textAt(value, key),
  feature_store_secret: (value, key) => textAt(value, key),
  protected(value, key) {
    if (typeof value !== "boolean") throw new ConfigInvalid(`${key}: expected true or false`);
  },
  environment_buckets(value, key) {
    for (const [name, uri] of Object.entries(objectAt(value, key))) {
      if (!BUCKETS.includes(name as Bucket)) {
        const near = didYouMean(name, BUCKETS);
        throw new ConfigInvalid(`${key}: there is no '${name}'${near ? `; ${near}` : `: there are ${BUCKETS.join(", ")}`}`);
      }
      textAt(uri, `${key}.${name}`);
      if (!/^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(uri as string))
        throw new ConfigInvalid(`${key}.${name}: expected a URI such as s3://bucket/prefix`);
    }
  },
  history_max_age(value, key) {
    textAt(value, key, MAX_LABEL);
    const ms = value === "" ? LEAST_AGE_MS : parseDuration(value as string);
    if (ms === undefined || !Number.isFinite(ms) || ms < LEAST_AGE_MS)
      throw new ConfigInvalid(`${key}: expected a duration of at least an hour, such as 365d`);
  },
  history_max_size(value, key) {
    textAt(value, key, MAX_LABEL);
    const bytes = value === "" ? LEAST_SIZE : quantityValue(value as string);
    if (bytes === undefined || !Number.isSafeInteger(bytes) || bytes < LEAST_SIZE)
      throw new ConfigInvalid(`${key}: expected a number of bytes of at least 1Mi, such as 100Gi`);
  },
  worker_container(value, key) {
    const given = objectAt(value, key);
    for (const [name, one] of Object.entries(given)) {
      if (!(name in NO_CONFIG.worker_container)) {
        const names = Object.keys(NO_CONFIG.worker_container);
        const near = didYouMean(name, names);
        throw new ConfigInvalid(`${key}: there is no '${name}'${near ? `; ${near}` : `: there are ${names.join(", ")}`}`);
      }
      if (name !== "network") textAt(one, `${key}.${name}`, 500);
      else if (typeof one !== "boolean") throw new ConfigInvalid(`${key}.${name}: expected true or false`);
    }
    const { cpu = "", image = "", memory = "", network = false } = given;
    if (image === "" && (cpu !== "" || memory !== "" || network))
      throw new ConfigInvalid(`${key}: names no image in which Python is, such as python:3.12-slim`);
    if (image !== "" && !/^\w[\w.:/@+-]*$/.test(image as string))
      throw new ConfigInvalid(`${key}.image: expected an image such as python:3.12-slim`);
    if ((image as string).startsWith("host:"))
      throw new ConfigInvalid(`${key}.image: host: is the server's own machine, where workers run without this setting`);
    const bytes = quantityValue(memory as string);
    if (memory !== "" && !(bytes !== undefined && bytes >= LEAST_WORKER_MEMORY))
      throw new ConfigInvalid(`${key}.memory: expected at least 32Mi, such as 512Mi`);
    const processors = quantityValue(cpu as string);
    if (cpu !== "" && !(processors !== undefined && processors >= 0.01 && processors <= 1_024))
      throw new ConfigInvalid(`${key}.cpu: expected a number of processors, such as 500m or 2`);
  },
  labels(value, key) {
    const labels = Object.entries(objectAt(value, key));
    if (labels.length > MAX_LABELS) throw new ConfigInvalid(`${key}: there are at most ${MAX_LABELS}`);
    for (const [name, text] of labels) {
      if (!LABEL_KEY.test(name))
        throw new ConfigInvalid(
          `${key}: '${name.slice(0, MAX_LABEL)}' is no key of a label: 1 to ${MAX_LABEL} letters, digits, '.', '_', '-' and '/', a letter first`,
        );
      textAt(text, `${key}.${name}`, MAX_LABEL);
      if (text === "" || escapeControls(text as string) !== text)
        throw new ConfigInvalid(`${key}.${name}: expected text without control characters`);
    }
  },
};

function checkSpecs(value: Json, key: string): void {
  checkTasks(objectAt(value, key), key);
  const groups = member(value as JsonObject, "resource_groups");
  if (groups === undefined) return;
  if (!Array.isArray(groups)) throw new ConfigInvalid(`${key}.resource_groups: expected a list`);
  const names = new Set<Json | undefined>();
  groups.forEach((group: Json, index) => {
    const at = `${key}.resource_groups[${index}]`;
    const name = member(objectAt(group, at), "resource_group_name");
    if (typeof name !== "string" || name === "") throw new ConfigInvalid(`${at}.resource_group_name: expected text`);
    if (name === DEFAULT_GROUP)
      throw new ConfigInvalid(`${at}: '${DEFAULT_GROUP}' is what stands beside resource_groups, and no group's name`);
    if (names.has(name)) throw new ConfigInvalid(`${at}: there are two groups '${name}'`);
    names.add(name);
    const services = member(group as JsonObject, "services");
    if (services === undefined) return;
    for (const [service, settings] of Object.entries(objectAt(services, `${at}.services`))) objectAt(settings, `${at}.services.${service}`);
    checkTasks(group as JsonObject, at);
  });
}

/** Throws ConfigInvalid for settings of tasks that this server cannot act on. */
function checkTasks(group: JsonObject, key: string): void {
  const problem = taskServiceProblem(group);
  throwAt(problem && `${key}.${problem}`);
}

function throwAt(problem: string | undefined): void {
  if (problem !== undefined) throw new ConfigInvalid(problem);
}

function objectAt(value: Json, key: string): JsonObject {
  if (!isJsonObject(value)) throw new ConfigInvalid(`${key}: expected keys and values`);
  return value;
}

function textAt(value: Json, key: string, longest = MAX_TEXT): void {
  if (typeof value !== "string")
    throw new ConfigInvalid(`${key}: expected text${typeof value === "object" ? "" : `; write "${value}" in quotes`}`);
  if (value.length > longest) throw new ConfigInvalid(`${key}: is longer than ${longest} characters`);
}

/** The name of the group that stands beside `resource_groups`. */
export const DEFAULT_GROUP = "default";

/** The names of a spec config's resource groups, `default` first. */
export function groupNames(specs: JsonObject): string[] {
  return [DEFAULT_GROUP, ...groupsOf(specs).map(({ resource_group_name: name }) => String(name))];
}

/**
 * A resource group: of `default` what stands beside `resource_groups`.
 * Undefined when there is none.
 */
export function resourceGroup(specs: JsonObject, name: string): JsonObject | undefined {
  if (name === DEFAULT_GROUP) return jsonObject(Object.entries(specs).filter(([key]) => key !== GROUPS));
  return groupsOf(specs).find(({ resource_group_name: found }) => found === name);
}

/**
 * The spec config with a resource group in the place of the one of its name; the rest is as it was.
 */
export function withResourceGroup(specs: JsonObject, name: string, group: JsonObject): JsonObject {
  if (name === DEFAULT_GROUP) {
    const groups = member(specs, GROUPS);
    if (groups === undefined) return group;
    const before = Object.keys(specs).indexOf(GROUPS);
    return jsonObject(Object.entries(group).toSpliced(Math.min(before, Object.keys(group).length), 0, [GROUPS, groups]));
  }
  const groups = groupsOf(specs).map((one) => (one.resource_group_name === name ? group : one));
  return jsonObject(Object.entries(specs).map(([key, value]) => [key, key === GROUPS ? groups : value]));
}

/** The member of a spec config that holds its resource groups. */
export const GROUPS = "resource_groups";

function groupsOf(specs: JsonObject): readonly JsonObject[] {
  return (member(specs, GROUPS) ?? []) as unknown as readonly JsonObject[];
}

/**
 * A configuration as a document: unset keys are empty, or null where a value has no empty form.
 */
export function configDocument(environment: { readonly id: string; readonly name: string }, config: EnvironmentConfig): JsonObject {
  const { specs_config, additional_env_vars, private_pip_repositories, online_store_secret, feature_store_secret } = config;
  const { environment_buckets, labels } = config;
  return {
    id: environment.id,
    name: environment.name,
    specs_config_json: specs_config,
    additional_env_vars,
    private_pip_repositories,
    online_store_secret: online_store_secret || null,
    feature_store_secret: feature_store_secret || null,
    environment_buckets: Object.keys(environment_buckets).length > 0 ? (environment_buckets as JsonObject) : null,
    labels,
    protected: config.protected,
    history_max_age: config.history_max_age || null,
    history_max_size: config.history_max_size || null,
    worker_container: config.worker_container.image === "" ? null : { ...config.worker_container },
  };
}

/**
 * The merge patch of a group for settings of one service: dotted keys make nested objects, values
 * are JSON where they can be read as such, else text. Throws ConfigInvalid.
 */
export function servicePatch(service: string, settings: readonly (readonly [key: string, value: string])[]): JsonObject {
  const tree = new Map<string, unknown>();
  for (const [key, text] of settings) {
    const steps = key.split(".");
    if (steps.includes("")) throw new ConfigInvalid(`'${key}' is no dotted key: a name between its dots is missing`);
    let inner = tree;
    steps.forEach((step, index) => {
      if (index === steps.length - 1) {
        if (inner.has(step)) throw new ConfigInvalid(`'${key}' is set twice`);
        inner.set(step, scalarOf(text));
        return;
      }
      const next = inner.get(step) ?? new Map<string, unknown>();
      if (!(next instanceof Map)) throw new ConfigInvalid(`'${key}' is below a key that is set itself`);
      inner.set(step, next);
      inner = next;
    });
  }
  return { services: jsonObject([[service, objectOf(tree)]]) };
}

function objectOf(tree: ReadonlyMap<string, unknown>): JsonObject {
  return jsonObject([...tree].map(([name, value]) => [name, value instanceof Map ? objectOf(value) : (value as Json)]));
}

function scalarOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
