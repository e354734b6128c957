/** What the names in an expression mean: paths from the class of the row that it is computed for. */

import type { Feature, FeatureSet } from "../../../gen/svc/v1/graph_pb.ts";
import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import { didYouMean } from "../closest.ts";
import type { GraphIndex } from "../graph-index.ts";
import { readableName } from "../name.ts";

/** The row that an expression, or a part of it in brackets, is about. */
export interface ExpressionScope {
  readonly index: GraphIndex;
  /** The row's class. */
  readonly set: FeatureSet;
  /** Whether it belongs to a windowed feature, so that `_.svc_window` has a meaning. */
  readonly isWindowed: boolean;
  /** The scope around the brackets; absent at the top. */
  readonly outer?: ExpressionScope;
}

/** A path that leads to a value. */
export interface FoundValue {
  readonly found: true;
  readonly feature: Feature;
  /** Dotted path of the feature from the scope's class. */
  readonly column: string;
  /** Fields to read of its value, which is a struct then. */
  readonly fields: readonly string[];
  readonly type: DataType;
  readonly nullable: boolean;
}

/** A path that leads to no value, and why. */
export interface NoValue {
  readonly found: false;
  readonly message: string;
  /** A few words under the marker. */
  readonly label: string;
}

/** A path that leads to a has-many relation. */
export interface FoundRelation {
  readonly found: true;
  readonly path: string;
  readonly relation: Feature;
  readonly child: FeatureSet;
  /** Whether an optional has-one relation lies on the way. */
  readonly isOptional: boolean;
}

interface Walk {
  readonly features: readonly Feature[];
  /** Segments behind the last feature. */
  readonly rest: readonly string[];
  readonly isOptional: boolean;
}

function walk(scope: ExpressionScope, path: readonly string[]): Walk | NoValue {
  const features: Feature[] = [];
  let isOptional = false;
  let set: FeatureSet | undefined = scope.set;
  for (const [position, name] of path.entries()) {
    if (!set) return { features, rest: path.slice(position), isOptional };
    const feature: Feature | undefined = set.features.find((candidate) => candidate.name === name);
    if (!feature) return unknown(name, set);
    features.push(feature);
    set = undefined;
    if (feature.kind.case === "hasOne") {
      isOptional ||= feature.kind.value.optional;
      set = scope.index.sets.get(feature.kind.value.foreignNamespace);
    }
  }
  return { features, rest: [], isOptional };
}

function unknown(name: string, set: FeatureSet): NoValue {
  const windows = set.features.filter(
    (feature) => feature.kind.case === "scalar" && feature.kind.value.windowedBase === `${set.namespace}.${name}`,
  );
  if (windows.length > 0) {
    const spelled = windows.map((feature) => readableName(feature.name)).join(", ");
    return { found: false, message: `${set.className}.${name} has one value per window: ${spelled}`, label: "which window?" };
  }
  const near = didYouMean(
    readableName(name),
    set.features.map((feature) => readableName(feature.name)),
  );
  return {
    found: false,
    message: `${set.className} has no feature '${readableName(name)}'${near && `; ${near}`}`,
    label: "no such feature",
  };
}

/** Finds the value at the end of a path. */
export function resolveValue(scope: ExpressionScope, path: readonly string[]): FoundValue | NoValue {
  const walked = walk(scope, path);
  if ("found" in walked) return walked;
  const feature = walked.features.at(-1);
  if (!feature) return { found: false, message: "`_` alone is a row, not a value: name a feature of it", label: "no value" };
  const shown = `_.${path.join(".")}`;
  if (feature.kind.case === "hasMany")
    return {
      found: false,
      message: `${shown} is any number of rows, not a value: aggregate them, such as _.${feature.name}.count()`,
      label: "no value",
    };
  if (feature.kind.case !== "scalar" || !feature.kind.value.dtype)
    return { found: false, message: `${shown} is a row, not a value: name a feature of it`, label: "no value" };
  let type: DataType = feature.kind.value.dtype;
  let nullable = feature.kind.value.nullable || walked.isOptional;
  for (const name of walked.rest) {
    const fields = type.kind.case === "struct" ? type.kind.value.fields : [];
    const field = fields.find((candidate) => candidate.name === name);
    if (!field?.dtype) {
      const near = didYouMean(
        name,
        fields.map((candidate) => candidate.name),
      );
      const message =
        fields.length > 0
          ? `${feature.fqn} has no field '${name}'${near && `; ${near}`}`
          : `${feature.fqn} is a value, not a relation: it has no feature '${name}'`;
      return { found: false, message, label: "no such field" };
    }
    type = field.dtype;
    nullable ||= field.nullable;
  }
  const column = path.slice(0, path.length - walked.rest.length).join(".");
  return { found: true, feature, column, fields: walked.rest, type, nullable };
}

/** Finds the has-many relation at the end of a path. */
export function resolveRelation(scope: ExpressionScope, path: readonly string[]): FoundRelation | NoValue {
  const walked = walk(scope, path);
  if ("found" in walked) return walked;
  const relation = walked.features.at(-1);
  const child = relation?.kind.case === "hasMany" ? scope.index.sets.get(relation.kind.value.foreignNamespace) : undefined;
  if (!relation || !child || walked.rest.length > 0)
    return { found: false, message: `_.${path.join(".")} is no has-many relation, so there is nothing to aggregate`, label: "no rows" };
  return { found: true, path: path.join("."), relation, child, isOptional: walked.isOptional };
}
