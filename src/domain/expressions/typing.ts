/**
 * The type checker of expressions: every part gets its type, and what does not fit is a finding.
 * The evaluator is made from the typed tree.
 */

import { create } from "@bufbuild/protobuf";
import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import type { Aggregation, Expression, FeatureReference, FunctionCall, Grouping as GroupingMessage } from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, DataTypeSchema, PrimitiveType, type Value } from "../../../gen/svc/v1/value_pb.ts";
import { didYouMean } from "../closest.ts";
import { finding } from "../finding.ts";
import { fromProtoValue } from "../proto-value.ts";
import { BAD_AGGREGATION, BAD_EXPRESSION, EXPRESSION_TYPE, UNKNOWN_FUNCTION } from "../rules/expressions.ts";
import type { RuleProblem } from "../rules/rule.ts";
import { BAD_GROUPING } from "../rules/windows.ts";
import type { FeatureValue } from "../value.ts";
import { AGGREGATIONS, type AggregationDefinition, chooseFold, type Fold, usageOf } from "./aggregations.ts";
import type { FunctionDefinition, Overload } from "./definition.ts";
import { EvaluationError } from "./evaluation-error.ts";
import { chooseOverload, FUNCTIONS, isResultNullable } from "./functions.ts";
import { type GroupFields, isGroupable } from "./grouping.ts";
import { type ExpressionScope, resolveRelation, resolveValue } from "./scope.ts";
import { isNullType, joinTypes, listOf, NULL_TYPE, PRIMITIVES, typeWords } from "./types.ts";

interface Typed {
  readonly type: DataType;
  readonly nullable: boolean;
}

/** The groups of an aggregation. */
export interface Grouping {
  readonly columns: readonly { readonly name: string; readonly typed: TypedExpression }[];
  /** The fields of the structs that the groups come to. */
  readonly fields: GroupFields;
}

/** A part of an expression with its type. */
export type TypedExpression = Typed &
  (
    | { readonly kind: "literal"; readonly value: FeatureValue }
    /** `scope`: how many brackets outside the row's scope is. */
    | {
        readonly kind: "reference";
        readonly column: string;
        readonly fields: readonly string[];
        readonly scope: number;
        readonly fqn: string;
      }
    | {
        readonly kind: "call";
        readonly definition: FunctionDefinition;
        readonly overload: Overload;
        readonly arguments: readonly TypedExpression[];
        /** The type that each argument is widened to; undefined = none. */
        readonly widened: readonly (DataType | undefined)[];
      }
    | {
        readonly kind: "aggregation";
        readonly definition: AggregationDefinition;
        readonly fold: Fold;
        readonly path: string;
        readonly namespace: string;
        readonly fqn: string;
        readonly filters: readonly TypedExpression[];
        readonly column: TypedExpression | undefined;
        readonly widened: DataType | undefined;
        /** What rows are chosen by, with the type that it is widened to. */
        readonly key: { readonly typed: TypedExpression; readonly widened: DataType | undefined } | undefined;
        /** The columns by which rows are aggregated apart; undefined = all rows together. */
        readonly grouping: Grouping | undefined;
        /** The constant arguments. */
        readonly constants: readonly FeatureValue[];
        /**
         * Path of the child's feature time, when the order of rows matters and the class has one.
         */
        readonly order: string | undefined;
        /**
         * Whether an optional has-one relation leads to the rows, so that there may be no row that
         * has any.
         */
        readonly isOptional: boolean;
      }
    | { readonly kind: "now" }
    | { readonly kind: "window-start" }
  );

/** An expression with its findings; without `typed` when a part of it has no type. */
export interface TypingResult {
  readonly typed?: TypedExpression;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * The typed tree of an expression, with its findings.
 * @param span the span of findings about parts that have none of their own
 */
export function typeExpression(expression: Expression, scope: ExpressionScope, span?: Span): TypingResult {
  const checker = new TypeChecker();
  const typed = checker.type(expression, scope, span);
  return { ...(typed && checker.diagnostics.length === 0 && { typed }), diagnostics: checker.diagnostics };
}

class TypeChecker {
  readonly diagnostics: Diagnostic[] = [];

  type(expression: Expression, scope: ExpressionScope, enclosing: Span | undefined): TypedExpression | undefined {
    const span = expression.span ?? enclosing;
    const { node } = expression;
    switch (node.case) {
      case "literal":
        return literal(node.value);
      case "feature":
        return this.#reference(node.value, scope, span);
      case "call":
        return this.#call(node.value, scope, span);
      case "aggregation":
        return this.#aggregation(node.value, scope, span);
      case "queryNow":
        return { kind: "now", type: PRIMITIVES.datetime, nullable: false };
      case "windowStart":
        if (scope.isWindowed) return { kind: "window-start", type: PRIMITIVES.datetime, nullable: false };
        return this.#refuse(BAD_EXPRESSION.windowStartHere(), span);
      default:
        return this.#refuse(EXPRESSION_TYPE.empty(), span);
    }
  }

  #refuse(problem: RuleProblem, span: Span | undefined): undefined {
    this.diagnostics.push(finding(problem, span));
    return undefined;
  }

  #reference({ path, scope: distance }: FeatureReference, scope: ExpressionScope, span: Span | undefined): TypedExpression | undefined {
    let at: ExpressionScope | undefined = scope;
    for (let step = 0; step < distance; step++) at = at?.outer;
    if (!at) return this.#refuse(BAD_EXPRESSION.outerRow({ path: path.join(".") }), span);
    const value = resolveValue(at, path);
    if (!value.found) return this.#refuse(value.problem, span);
    const { column, fields, type, nullable, feature } = value;
    return { kind: "reference", column, fields, scope: distance, fqn: feature.fqn, type, nullable };
  }

  #call(call: FunctionCall, scope: ExpressionScope, span: Span | undefined): TypedExpression | undefined {
    const definition = FUNCTIONS.get(call.function);
    const given = call.arguments.map((argument) => this.type(argument, scope, span));
    if (!definition) {
      const near = didYouMean(call.function, FUNCTIONS.keys());
      return this.#refuse(UNKNOWN_FUNCTION.noSuchFunction({ name: call.function, near: near && `; ${near}` }), span);
    }
    const typed = given.filter((argument) => argument !== undefined);
    if (typed.length < given.length) return undefined;
    const test = nullTest(definition.name, typed);
    if (test) return test;
    const types = typed.map((argument) => argument.type);
    const chosen = chooseOverload(definition, types);
    if (!chosen) {
      const legal = [...new Set(definition.overloads.map(({ signature }) => signature.text.split("->")[0]?.trim() || "nothing"))];
      const shown = legal.length > 8 ? [...legal.slice(0, 8), "..."] : legal;
      const [takes, are] = [shown.map((text) => `(${text})`).join(", "), types.map(typeWords).join(", ")];
      return this.#refuse(EXPRESSION_TYPE.cannotTake({ function: definition.name, given: are, legal: takes }), span);
    }
    try {
      definition.checkConstants?.(typed.map((argument) => (argument.kind === "literal" ? argument.value : undefined)));
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      return this.#refuse(EXPRESSION_TYPE.neverRight({ problem: error.message }), span);
    }
    const nullable = isResultNullable(
      definition,
      chosen.overload,
      typed.map((argument) => argument.nullable),
    );
    const { result, parameters } = chosen.match;
    return { kind: "call", definition, overload: chosen.overload, arguments: typed, widened: parameters, type: result, nullable };
  }

  #aggregation(node: Aggregation, scope: ExpressionScope, span: Span | undefined): TypedExpression | undefined {
    const relation = resolveRelation(scope, node.path);
    if (!relation.found) return this.#refuse(relation.problem, span);
    const inner: ExpressionScope = { index: scope.index, set: relation.child, isWindowed: scope.isWindowed, outer: scope };
    const filters = node.filters.map((filter) => {
      const typed = this.type(filter, inner, span);
      if (!typed || isNullType(typed.type) || isBool(typed.type)) return typed;
      return this.#refuse(EXPRESSION_TYPE.filter({ type: typeWords(typed.type) }), filter.span ?? span);
    });
    const column = node.column && this.type(node.column, inner, span);
    const groupColumns = node.grouping?.columns.map(({ value }) => this.#groupColumn(value, inner, span)) ?? [];
    const key = node.key && this.type(node.key, inner, span);
    const definition = AGGREGATIONS.get(node.function);
    if (!definition) {
      const near = didYouMean(node.function, AGGREGATIONS.keys());
      return this.#refuse(UNKNOWN_FUNCTION.noSuchAggregation({ name: node.function, near: near && `; ${near}` }), span);
    }
    const shown = `_.${relation.path}`;
    if (definition.needsKey && !node.key) {
      const example = definition.example.replace(/^.*\]/, `${shown}[_.column]`);
      return this.#refuse(BAD_AGGREGATION.noKey({ method: node.function, example }), span);
    }
    const { needsKey, constants: parameters } = definition;
    if (node.arguments.length !== parameters.length || (node.key && !needsKey)) {
      const given = node.arguments.length + (node.key ? 1 : 0);
      const wanted = parameters.length + (needsKey ? 1 : 0);
      return this.#refuse(
        EXPRESSION_TYPE.wrongNumber({
          usage: usageOf(definition),
          wanted: counted(wanted),
          given: `${given} ${given === 1 ? "is" : "are"}`,
        }),
        span,
      );
    }
    const constants = node.arguments.map((argument) => fromProtoValue(argument));
    for (const [index, { problem }] of parameters.entries()) {
      const found = problem(constants[index] as FeatureValue);
      if (found !== undefined) return this.#refuse(EXPRESSION_TYPE.neverRight({ problem: `${node.function}(): ${found}` }), span);
    }
    if (!node.column && definition.needsColumn) {
      const example = `${shown}[_.column].${node.function}()`;
      return this.#refuse(BAD_AGGREGATION.noColumn({ method: node.function, example }), span);
    }
    const typedFilters = filters.filter((filter) => filter !== undefined);
    if (typedFilters.length < filters.length || (node.column && !column) || (node.key && !key)) return undefined;
    if (groupColumns.includes(undefined)) return undefined;
    const chosen = chooseFold(definition, column?.type ?? NULL_TYPE, key?.type, constants);
    if (!chosen) {
      const legal = definition.overloads.map(({ signature }) => signature.text.split("->")[0]?.split(",").at(-1)?.trim()).join(", ");
      const is = typeWords((needsKey ? key : column)?.type ?? NULL_TYPE);
      if (needsKey) return this.#refuse(EXPRESSION_TYPE.cannotOrder({ function: node.function, given: is, legal }), node.key?.span ?? span);
      return this.#refuse(EXPRESSION_TYPE.cannotAggregate({ function: node.function, given: is, legal }), node.column?.span ?? span);
    }
    const time = definition.isOrdered ? relation.child.featureTime : "";
    const grouping = node.grouping && groupingOf(node.grouping, groupColumns as readonly TypedExpression[]);
    return {
      kind: "aggregation",
      definition,
      fold: chosen.fold,
      path: relation.path,
      namespace: relation.child.namespace,
      fqn: relation.relation.fqn,
      filters: typedFilters,
      column: column ?? undefined,
      widened: chosen.match.parameters[0],
      key: key && { typed: key, widened: chosen.match.parameters[1] },
      grouping,
      constants,
      order: time === "" ? undefined : time.slice(relation.child.namespace.length + 1),
      isOptional: relation.isOptional,
      type: node.grouping && grouping ? structsOf(node.grouping, grouping, chosen) : chosen.match.result,
      nullable: (!grouping && chosen.resultNullable) || relation.isOptional,
    };
  }

  /** A column that rows are grouped by. */
  #groupColumn(column: Expression | undefined, inner: ExpressionScope, span: Span | undefined): TypedExpression | undefined {
    const typed = column && this.type(column, inner, span);
    if (!typed || isGroupable(typed.type)) return typed;
    return this.#refuse(BAD_GROUPING.column({ type: typeWords(typed.type) }), column.span ?? span);
  }
}

function groupingOf(node: GroupingMessage, typed: readonly TypedExpression[]): Grouping {
  const columns = node.columns.map(({ name }, at) => ({ name, typed: typed[at] as TypedExpression }));
  const fields = { columns: columns.map(({ name, typed: { type } }) => ({ name, type })), value: node.valueName };
  return { columns, fields };
}

/** The type of the structs that the groups of an aggregation come to, as a list. */
function structsOf(
  { structName, valueName }: GroupingMessage,
  { columns }: Grouping,
  value: { readonly match: { readonly result: DataType }; readonly resultNullable: boolean },
): DataType {
  const fields = [
    ...columns.map(({ name, typed: { type, nullable } }) => ({ name, dtype: type, nullable })),
    { name: valueName, dtype: value.match.result, nullable: value.resultNullable },
  ];
  return listOf(create(DataTypeSchema, { kind: { case: "struct", value: { name: structName, fields } } }));
}

/**
 * The null test that `_.x == None` stands for, as in Python; undefined for other calls. Comparisons
 * with values that turn out to be null are null.
 */
function nullTest(name: string, typed: readonly TypedExpression[]): TypedExpression | undefined {
  if (name !== "eq" && name !== "ne") return undefined;
  const values = typed.filter((argument) => !isNullType(argument.type));
  if (typed.length !== 2 || values.length !== 1) return undefined;
  const definition = FUNCTIONS.get(name === "eq" ? "is_null" : "is_not_null");
  const overload = definition?.overloads[0];
  if (!definition || !overload) return undefined;
  return { kind: "call", definition, overload, arguments: values, widened: [undefined], type: PRIMITIVES.bool, nullable: false };
}

/** A number of arguments in words. */
function counted(count: number): string {
  return count === 0 ? "no arguments" : count === 1 ? "one argument" : `${count} arguments`;
}

function isBool(type: DataType): boolean {
  return type.kind.case === "primitive" && type.kind.value === PrimitiveType.BOOL;
}

function literal(value: Value): TypedExpression {
  const type = typeOfValue(value);
  return { kind: "literal", value: fromProtoValue(value), type, nullable: isNullType(type) };
}

const LITERAL_TYPES: Readonly<Partial<Record<NonNullable<Value["kind"]["case"]>, DataType>>> = {
  int64Value: PRIMITIVES.int,
  doubleValue: PRIMITIVES.float,
  stringValue: PRIMITIVES.str,
  boolValue: PRIMITIVES.bool,
  bytesValue: PRIMITIVES.bytes,
  dateValue: PRIMITIVES.date,
  timestampValue: PRIMITIVES.datetime,
  durationValue: PRIMITIVES.timedelta,
  decimalValue: PRIMITIVES.decimal,
  structValue: PRIMITIVES.json,
};

/** The type of a constant; a list of several types that do not go together is a list of json. */
function typeOfValue({ kind }: Value): DataType {
  if (kind.case === "listValue") {
    const types = kind.value.values.map(typeOfValue);
    let element: DataType | undefined = NULL_TYPE;
    for (const type of types) element = element && joinTypes(element, type);
    return listOf(element ?? PRIMITIVES.json, types.some(isNullType));
  }
  return (kind.case && LITERAL_TYPES[kind.case]) ?? NULL_TYPE;
}
