/**
 * Resolution of the names in an expression: paths from the class of the row that it is computed
 * for.
 */

import type { Feature, FeatureSet } from "../../../gen/svc/v1/graph_pb.ts";
import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import { didYouMean } from "../closest.ts";
import type { GraphIndex } from "../graph-index.ts";
import { readableName } from "../name.ts";
import { BAD_EXPRESSION } from "../rules/expressions.ts";
import type { RuleProblem } from "../rules/rule.ts";

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

/** A path that leads to no value, with the problem to report. */
export interface NoValue {
  readonly found: false;
  readonly problem: RuleProblem;
}

/** A path that leads to a has-many relation. */
export interface FoundRelation {
  readonly found: true;
  readonly path: string;
  readonly relation: Feature;
  readonly child: FeatureSet;
  /** Whether an optional has-one relation is part of the path. */
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
    const names = windows.map((feature) => readableName(feature.name)).join(", ");
    return { found: false, problem: BAD_EXPRESSION.valuePerWindow({ owner: set.className, name, windows: names }) };
  }
  const near = didYouMean(
    readableName(name),
    set.features.map((feature) => readableName(feature.name)),
  );
  const problem = BAD_EXPRESSION.noSuchFeature({ owner: set.className, name: readableName(name), near: near && `; ${near}` });
  return { found: false, problem };
}

/** The value at the end of a path. */
export function resolveValue(scope: ExpressionScope, path: readonly string[]): FoundValue | NoValue {
  const walked = walk(scope, path);
  if ("found" in walked) return walked;
  const feature = walked.features.at(-1);
  if (!feature) return { found: false, problem: BAD_EXPRESSION.rowAlone() };
  const shown = `_.${path.join(".")}`;
  if (feature.kind.case === "hasMany") return { found: false, problem: BAD_EXPRESSION.rowsAsValue({ path: shown, name: feature.name }) };
  if (feature.kind.case !== "scalar" || !feature.kind.value.dtype)
    return { found: false, problem: BAD_EXPRESSION.rowAsValue({ path: shown }) };
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
      const problem =
        fields.length > 0
          ? BAD_EXPRESSION.noSuchField({ feature: feature.fqn, name, near: near && `; ${near}` })
          : BAD_EXPRESSION.valueAsRelation({ feature: feature.fqn, name });
      return { found: false, problem };
    }
    type = field.dtype;
    nullable ||= field.nullable;
  }
  const column = path.slice(0, path.length - walked.rest.length).join(".");
  return { found: true, feature, column, fields: walked.rest, type, nullable };
}

/** The has-many relation at the end of a path. */
export function resolveRelation(scope: ExpressionScope, path: readonly string[]): FoundRelation | NoValue {
  const walked = walk(scope, path);
  if ("found" in walked) return walked;
  const relation = walked.features.at(-1);
  const child = relation?.kind.case === "hasMany" ? scope.index.sets.get(relation.kind.value.foreignNamespace) : undefined;
  if (!relation || !child || walked.rest.length > 0)
    return { found: false, problem: BAD_EXPRESSION.nothingToAggregate({ path: path.join(".") }) };
  return { found: true, path: path.join("."), relation, child, isOptional: walked.isOptional };
}
