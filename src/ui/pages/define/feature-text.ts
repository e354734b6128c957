/** Features in words. */

import type {
  FeatureJson,
  FeatureMetadataJson,
  FeatureProviderJson,
  FeatureVersionJson,
  ValidationJson,
} from "../../../../gen/svc/v1/graph_pb.ts";
import type { DataTypeJson } from "../../../../gen/svc/v1/value_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { withoutVersion } from "../../../domain/feature-version.ts";
import { compareNames, escapeControls } from "../../../domain/name.ts";
import { plainOf } from "../../parts/proto-value.ts";

const PRIMITIVES: Readonly<Record<string, string>> = {
  INT64: "int",
  FLOAT64: "float",
  STRING: "str",
  BOOL: "bool",
  BYTES: "bytes",
  DATE: "date",
  DATETIME: "datetime",
  TIMEDELTA: "timedelta",
  DECIMAL: "Decimal",
  JSON: "json",
};
/** The length of time that stands for "never expires", as the contract's JSON writes it. */
const NEVER_EXPIRES = "315576000000s";

/** A type as a Python user writes it: `int`, `list[str]`, `Address`. */
export function typeText(type: DataTypeJson | undefined): string {
  if (type?.primitive) return PRIMITIVES[type.primitive.replace("PRIMITIVE_TYPE_", "")] ?? "unknown";
  if (type?.list) return `${type.list.set ? "set" : "list"}[${typeText(type.list.element)}]`;
  return type?.struct?.name ?? type?.enum?.name ?? "unknown";
}

/** The type of a feature's values, or the class that a relation leads to. */
export function featureType({ scalar, hasOne, hasMany }: FeatureJson): string {
  if (scalar) return `${typeText(scalar.dtype)}${scalar.nullable ? " | None" : ""}`;
  return hasMany ? `DataFrame[${hasMany.foreignNamespace}]` : (hasOne?.foreignNamespace ?? "");
}

/** What kind of feature it is: `primary key`, `window`, `has-many`... */
export function featureKind({ scalar, hasOne, hasMany }: FeatureJson): string {
  if (hasOne) return "has-one";
  if (hasMany) return "has-many";
  if (scalar?.primary) return "primary key";
  if (scalar?.featureTime) return "feature time";
  if (scalar?.window) return "window";
  return scalar?.expression ? "expression" : "value";
}

/** Milliseconds of a duration in the contract's JSON, `3.5s`; 0 when it is absent. */
export function durationMs(text: string | undefined): number {
  if (text === NEVER_EXPIRES) return Number.POSITIVE_INFINITY;
  return text === undefined ? 0 : Math.round(Number(text.slice(0, -1)) * 1e6) / 1e3;
}

/** How long stored values are served: `1h`, `always`; empty = they are not stored. */
export function cachedFor({ maxStaleness }: Pick<FeatureJson, "maxStaleness">): string {
  const ms = durationMs(maxStaleness);
  return ms === 0 ? "" : ms === Number.POSITIVE_INFINITY ? "always" : formatDuration(ms);
}

/** Whether stored values are served: `never`, `for 1h`, `always`. */
export function servedText(feature: FeatureJson): string {
  const cached = cachedFor(feature);
  if (cached === "") return "never";
  return cached === "always" ? cached : `for ${cached}`;
}

/** Where values are stored, by the options of the feature. */
export function storedText({
  storeOnline = true,
  storeOffline = true,
}: {
  readonly storeOnline?: boolean;
  readonly storeOffline?: boolean;
}): string {
  if (storeOnline && storeOffline) return "online and offline";
  return storeOnline ? "online only" : storeOffline ? "offline only" : "nowhere";
}

/** The rules that values keep to, as they are written: `min=0, max=100 (strict); max_length=3`. */
export function validationsText(validations: readonly ValidationJson[] = []): string {
  return validations.map((one) => `${rulesText(one)}${one.strict ? " (strict)" : ""}`).join("; ");
}

function rulesText({ check, contains, max, maxLength, min, minLength }: ValidationJson): string {
  const bounds = { min, max, min_length: minLength, max_length: maxLength, contains: contains && JSON.stringify(plainOf(contains)) };
  return Object.entries({ ...bounds, check })
    .flatMap(([name, bound]) => (bound === undefined ? [] : [`${name}=${bound}`]))
    .join(", ");
}

/** The number of the version that a feature is: `2`, `1, the default`; empty when it has one. */
export function featureVersionText({ defaultVersion = 0, version = 0 }: FeatureJson): string {
  return version === 0 ? "" : `${version}${version === defaultVersion ? ", the default" : ""}`;
}

/** FQNs of all versions of the feature that one is of, by number; empty of others. */
export function versionsOf(all: readonly FeatureMetadataJson[], { fqn = "", version = 0 }: FeatureJson): string[] {
  if (version === 0) return [];
  const base = withoutVersion(fqn);
  return all
    .flatMap(({ feature = {} }) => (feature.version && withoutVersion(feature.fqn ?? "") === base ? [feature] : []))
    .sort((left, right) => (left.version ?? 0) - (right.version ?? 0))
    .map((one) => one.fqn ?? "");
}

/** FQN of the primary key of a class; empty when it is not among the features. */
export function primaryKeyOf(all: readonly FeatureMetadataJson[], namespace: string | undefined): string {
  return all.find(({ feature }) => feature?.namespace === namespace && feature?.scalar?.primary)?.feature?.fqn ?? "";
}

const WINDOW = /__\d+__$/;

/** FQNs of all windows of the feature that one is of, the shortest first; empty of others. */
export function windowsOf(all: readonly FeatureMetadataJson[], fqn: string): string[] {
  if (!WINDOW.test(fqn)) return [];
  const base = fqn.replace(WINDOW, "");
  return all
    .flatMap(({ feature }) => feature?.fqn ?? [])
    .filter((one) => WINDOW.test(one) && one.replace(WINDOW, "") === base)
    .sort(compareNames);
}

/** A version: `2 float`, `1 int (ended)`. */
export function versionText({ ended = false, internalVersion = 1, type = "" }: FeatureVersionJson): string {
  return `${internalVersion} ${escapeControls(type)}${ended ? " (ended)" : ""}`;
}

const PROVIDERS: Readonly<Record<string, string>> = {
  PROVIDER_KIND_ONLINE_STORE: "the online store",
  PROVIDER_KIND_JOIN: "its join",
  PROVIDER_KIND_EXPRESSION: "its expression",
  PROVIDER_KIND_DEFAULT: "its default",
};

/** What a provider is; empty of a resolver, which has a name of its own. */
export function providerText({ kind = "PROVIDER_KIND_UNSPECIFIED" }: FeatureProviderJson): string {
  return PROVIDERS[kind] ?? "";
}
