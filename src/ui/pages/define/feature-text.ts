/** Features in words. */

import type { FeatureJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { DataTypeJson } from "../../../../gen/svc/v1/value_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";

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
export function cachedFor({ maxStaleness }: FeatureJson): string {
  const ms = durationMs(maxStaleness);
  return ms === 0 ? "" : ms === Number.POSITIVE_INFINITY ? "always" : formatDuration(ms);
}
