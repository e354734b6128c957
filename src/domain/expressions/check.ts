/**
 * Rules about expressions, by the function table:
 * - 130 error: `_.x` names nothing in its scope.
 * - 131 error: the types of arguments do not fit the function, or that of the expression does not
 *   fit the feature's annotation.
 * - 132 error: an aggregation needs exactly one column.
 * - 133 error: an unknown function or aggregation.
 * - 136 warning: the expression may be null and the feature is neither optional nor has it a
 *   default.
 * - 181, 182 errors: the aggregate of a window cannot be kept, by `tile-series.ts`.
 * - 184 warning: a window may have more groups than a value holds.
 */

import { create } from "@bufbuild/protobuf";
import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import {
  type Expression,
  type Feature,
  type FeatureSet,
  type Graph,
  GraphSchema,
  type StreamResolver,
} from "../../../gen/svc/v1/graph_pb.ts";
import type { DataType, StructTypeField } from "../../../gen/svc/v1/value_pb.ts";
import { finding, mergeFindings } from "../finding.ts";
import { GraphIndex } from "../graph-index.ts";
import { readableName } from "../name.ts";
import { EXPRESSION_TYPE, NULL_EXPRESSION } from "../rules/expressions.ts";
import type { RuleProblem } from "../rules/rule.ts";
import { BAD_MESSAGE_EXPRESSION } from "../rules/streams.ts";
import { BAD_GROUPING, MANY_GROUPS } from "../rules/windows.ts";
import { MAX_GROUPS } from "./grouping.ts";
import type { ExpressionScope } from "./scope.ts";
import { keptWindow } from "./tile-series.ts";
import { isNullType, NULL_TYPE, typeWords, widening } from "./types.ts";
import { type Grouping, type TypedExpression, typeExpression } from "./typing.ts";

/** The type and the findings of an expression, known before any row is. */
export interface CheckedExpression {
  /** Its type; absent when there are errors. */
  readonly type?: DataType;
  /** Whether it may be null. */
  readonly nullable: boolean;
  readonly diagnostics: Diagnostic[];
}

/**
 * The type and the findings of an expression by itself: rules 130 to 133. A `span` is for findings
 * about parts that have none.
 */
export function checkExpression(expression: Expression, scope: ExpressionScope, span?: Span): CheckedExpression {
  const { typed, diagnostics } = typeExpression(expression, scope, span);
  return { ...(typed && { type: typed.type }), nullable: typed?.nullable ?? true, diagnostics: [...diagnostics] };
}

/**
 * Findings about the expressions of all features, and the filters of resolvers' inputs and
 * of relations to the nearest rows. Equal
 * findings about the windows of one feature are reported once.
 */
export function checkGraphExpressions(graph: Graph): Diagnostic[] {
  const index = new GraphIndex(graph);
  const features = graph.featureSets.flatMap((set) => set.features.flatMap((feature) => checkFeature(index, set, feature)));
  const filters = graph.resolvers.flatMap((resolver) =>
    resolver.inputs.flatMap(({ kind }) => {
      if (kind.case !== "rows") return [];
      const child = childOf(index, kind.value.path);
      if (!child) return [];
      const scope = { index, set: child, isWindowed: false };
      return kind.value.filters.flatMap((filter) => checkFilter(filter, scope, resolver.span));
    }),
  );
  const conditions = graph.resolvers.flatMap(({ outputs, span, when }) => {
    const set = when && index.sets.get(outputs[0]?.split(".", 1)[0] ?? "");
    return set ? checkFilter(when, { index, set, isWindowed: false }, span) : [];
  });
  const nearest = graph.featureSets.flatMap((set) =>
    set.features.flatMap(({ kind, span }) => {
      const child = kind.case === "hasMany" ? index.sets.get(kind.value.foreignNamespace) : undefined;
      if (kind.case !== "hasMany" || !child) return [];
      const scope = { index, set: child, isWindowed: false };
      return (kind.value.nearest?.filters ?? []).flatMap((filter) => checkFilter(filter, scope, span));
    }),
  );
  const streams = graph.streamResolvers.flatMap((stream) => checkStream(index, stream));
  return mergeFindings([...features, ...filters, ...conditions, ...nearest, ...streams]);
}

/**
 * Findings about outputs that are expressions of a message's fields: rule 204 beside those of
 * expressions.
 */
function checkStream(index: GraphIndex, { body }: StreamResolver): Diagnostic[] {
  if (body.case !== "expressions" || !body.value.message) return [];
  const { message: set, outputs } = body.value;
  const fields = new GraphIndex(create(GraphSchema, { featureSets: [set] }));
  return Object.entries(outputs).flatMap(([fqn, expression]) => {
    const { diagnostics, type } = checkExpression(expression, { index: fields, set, isWindowed: false }, expression.span);
    const feature = index.features.get(fqn);
    const wanted = feature?.kind.case === "scalar" ? feature.kind.value.dtype : undefined;
    if (!type || !wanted || widening(type, wanted) !== undefined) return diagnostics;
    const problem = `the expression is ${typeWords(type)}, and the feature is ${typeWords(wanted)}`;
    return [...diagnostics, finding(BAD_MESSAGE_EXPRESSION.type({ feature: readableName(fqn), problem }), expression.span)];
  });
}

function checkFilter(filter: Expression, scope: ExpressionScope, span: Span | undefined): Diagnostic[] {
  const { type, diagnostics } = checkExpression(filter, scope, span);
  if (!type || isNullType(type) || typeWords(type) === "bool") return diagnostics;
  return [finding(EXPRESSION_TYPE.filter({ type: typeWords(type) }), filter.span ?? span)];
}

/** The class of a has-many relation's rows, by the path from a namespace. */
function childOf(index: GraphIndex, path: string): FeatureSet | undefined {
  const resolved = index.resolvePath(path);
  if (!resolved.found || resolved.feature.kind.case !== "hasMany") return undefined;
  return index.sets.get(resolved.feature.kind.value.foreignNamespace);
}

function checkFeature(index: GraphIndex, set: FeatureSet, feature: Feature): Diagnostic[] {
  if (feature.kind.case !== "scalar") return [];
  const { offlineExpression } = feature.kind.value;
  if (!offlineExpression) return checkOnline(index, set, feature);
  // What keeps a window is the expression that queries compute.
  const { materialization: _, ...rest } = feature.kind.value;
  const offline = { ...feature, kind: { case: "scalar" as const, value: { ...rest, expression: offlineExpression } } };
  return [...checkOnline(index, set, feature), ...checkOnline(index, set, offline)];
}

function checkOnline(index: GraphIndex, set: FeatureSet, feature: Feature): Diagnostic[] {
  if (feature.kind.case !== "scalar") return [];
  if (!feature.kind.value.expression) {
    const problem = keptWindow(index, set, feature);
    return problem && "code" in problem ? [finding(problem, feature.span)] : [];
  }
  const { expression, dtype, window, nullable, defaultValue } = feature.kind.value;
  const span = expression.span ?? feature.span;
  const { typed, diagnostics } = typeExpression(expression, { index, set, isWindowed: window !== undefined }, span);
  if (!typed || !dtype) return [...diagnostics];
  const name = feature.kind.value.windowedBase || readableName(feature.fqn);
  if (widening(typed.type, dtype) === undefined) {
    const [type, annotation] = [typeWords(typed.type), typeWords(dtype)];
    const problem = EXPRESSION_TYPE.annotation({ feature: name, type, annotation });
    return [finding(problem, span, { hint: conversionHint(type, annotation) })];
  }
  const unfit = typed.kind === "aggregation" && typed.grouping ? groupFieldProblem(name, typed.type, dtype) : undefined;
  if (unfit) return [finding(unfit, span)];
  const kept = keptWindow(index, set, feature);
  const groups = typed.kind === "aggregation" && typed.grouping ? mostGroups(typed.grouping) : 0;
  const problems = [
    ...(kept && "code" in kept ? [finding(kept, span)] : []),
    ...(groups > MAX_GROUPS && Number.isFinite(groups)
      ? [finding(MANY_GROUPS.combinations({ feature: name, groups: String(groups), most: String(MAX_GROUPS) }), span)]
      : []),
  ];
  if (!typed.nullable || nullable || defaultValue) return problems;
  const cause = causeOfNull(typed);
  return [
    ...problems,
    finding(NULL_EXPRESSION.mayBeNull({ feature: name, cause: cause && ` (${cause})` }), span, {
      hint: `Write \`${typeWords(dtype)} | None\`, give it a default, or wrap the expression in F.coalesce(..., <value>).`,
    }),
  ];
}

/** The groups that rows can have at most, by the members of their columns; Infinity = not known. */
function mostGroups({ columns }: Grouping): number {
  return columns.reduce((product, { typed: { nullable, type } }) => product * (membersOf(type) + Number(nullable)), 1);
}

function membersOf(type: DataType): number {
  if (type.kind.case === "enum") return type.kind.value.members.length;
  return typeWords(type) === "bool" ? 2 : Number.POSITIVE_INFINITY;
}

/** The first field of the structs of groups that is not what the feature's type says. */
function groupFieldProblem(feature: string, from: DataType, to: DataType): RuleProblem | undefined {
  const [given, wanted] = [fieldsOfItems(from), fieldsOfItems(to)];
  for (const [at, field] of given.entries()) {
    const own = wanted[at];
    const shown = { feature, field: field.name, type: typeWords(field.dtype ?? NULL_TYPE), annotation: typeWords(own?.dtype ?? NULL_TYPE) };
    if (own?.name !== field.name || widening(field.dtype ?? NULL_TYPE, own.dtype ?? NULL_TYPE) !== 0) return BAD_GROUPING.field(shown);
    if (field.nullable && !own.nullable) return BAD_GROUPING.nullable(shown);
  }
  return undefined;
}

/** The fields of the structs that a list has. */
function fieldsOfItems({ kind }: DataType): readonly StructTypeField[] {
  const element = kind.case === "list" ? kind.value.element?.kind : undefined;
  return element?.case === "struct" ? element.value.fields : [];
}

function conversionHint(from: string, to: string): string {
  if (from === "float" && to === "int") return "Wrap it in F.round, F.floor or F.ceil, or annotate float.";
  if (to === "str") return "Wrap it in F.to_string, or change the annotation.";
  return "Change one of the two.";
}

/** The part of an expression that makes it nullable, in words. */
function causeOfNull(typed: TypedExpression): string {
  switch (typed.kind) {
    case "reference":
      return `${typed.fqn} may be`;
    case "aggregation":
      if (typed.isOptional) return `the row that has _.${typed.path} may be missing`;
      return `${typed.definition.name}() of ${typed.definition.name === "std" || typed.definition.name === "var" ? "fewer than two rows" : "no rows"} is`;
    case "call": {
      const causes = typed.arguments.filter((argument) => argument.nullable);
      return causes.length > 0 && !typed.overload.signature.resultNullable
        ? causeOfNull(causes.at(-1) as TypedExpression)
        : `${typed.definition.name} may be`;
    }
    default:
      return "";
  }
}
