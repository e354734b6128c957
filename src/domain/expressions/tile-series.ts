/**
 * Series of tiles: what is kept of a window's aggregation, and the instants between which its rows
 * lie. Features whose aggregations differ by their windows alone share a series.
 */

import { toJson, toJsonString } from "@bufbuild/protobuf";
import { type Expression, ExpressionSchema, type Feature, type FeatureSet, type Materialization } from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, ValueSchema } from "../../../gen/svc/v1/value_pb.ts";
import { formatDuration } from "../duration.ts";
import type { GraphIndex } from "../graph-index.ts";
import { readableName } from "../name.ts";
import { durationToMicros, timestampToMicros } from "../proto-time.ts";
import type { RuleProblem } from "../rules/rule.ts";
import { BAD_BUCKETS, WINDOW_NOT_KEPT } from "../rules/windows.ts";
import type { FeatureValue } from "../value.ts";
import { ACCUMULATORS, type ChosenAccumulator, chooseAccumulator } from "./accumulators.ts";
import { groupedAccumulator } from "./grouping.ts";
import { resolveRelation } from "./scope.ts";
import { type Grouping, type TypedExpression, typeExpression } from "./typing.ts";

/** Buckets of a window at most. */
export const MAX_BUCKETS = 50_000;
/** The window `all`, 36,500 days, in microseconds. */
const ALL_MICROS = 36_500n * 86_400_000_000n;

/** What one series keeps. */
export interface TileSeries {
  /** Text that is the same for the same series and differs for others. */
  readonly key: string;
  /** Namespace of the rows. */
  readonly namespace: string;
  /** Names of the features of a row by which groups are told apart: the far side of the join. */
  readonly group: readonly string[];
  /** Name of the feature of a row that is its time. */
  readonly time: string;
  /** Conditions on a row; all must be true. */
  readonly filters: readonly Expression[];
  /** The value of a row; undefined = rows are counted. */
  readonly column: Expression | undefined;
  /** Type of the column. */
  readonly columnType: DataType | undefined;
  /** What rows are chosen by, as for `max_by`; undefined = nothing. */
  readonly choice: Expression | undefined;
  /** What rows are aggregated apart by, beside the group; empty = nothing. */
  readonly groupBy: readonly Expression[];
  /** Name of the aggregation. */
  readonly aggregation: string;
  readonly accumulator: ChosenAccumulator;
  /** Names of all features of a row that are read. */
  readonly reads: readonly string[];
  /** Length of a bucket in microseconds. */
  readonly bucketMicros: bigint;
  /** Beginning of bucket 0, microseconds since 1970. */
  readonly originMicros: bigint;
  /** Name of the resolver whose rows are backfilled; empty = any that gives them. */
  readonly backfillResolver: string;
  /** Schedule of backfills; empty = none. */
  readonly backfillSchedule: string;
  /** Time before a query of which rows are always read, microseconds. */
  readonly bufferMicros: bigint;
}

/** A feature whose aggregation is kept. */
export interface KeptWindow {
  readonly series: TileSeries;
  /** FQN of the relation: `user.txns`. */
  readonly relation: string;
  /** Names of the features of the parent that the join compares, as `series.group`. */
  readonly local: readonly string[];
  /** Type of the aggregation's result, before it is widened to the feature's. */
  readonly resultType: DataType;
  readonly windowMicros: bigint;
  /** Whether a row at the very start of the window counts. */
  readonly includesStart: boolean;
  /** Whether a row at the very end counts, which is the query's time. */
  readonly includesEnd: boolean;
}

type Typed = TypedExpression;
type Aggregation = Extract<Typed, { kind: "aggregation" }>;

/**
 * The series of a window that is to be kept; the problem when it cannot be; undefined when it is
 * not to be kept, or its expression has findings of its own.
 */
export function keptWindow(index: GraphIndex, set: FeatureSet, feature: Feature): KeptWindow | RuleProblem | undefined {
  if (feature.kind.case !== "scalar") return undefined;
  const { materialization, expression, window } = feature.kind.value;
  if (!materialization || !window) return undefined;
  const name = feature.kind.value.windowedBase || readableName(feature.fqn);
  const refuse = (why: string): RuleProblem => WINDOW_NOT_KEPT.shape({ feature: name, why });
  if (!expression) return refuse("it has no expression");
  const { typed } = typeExpression(expression, { index, set, isWindowed: true }, feature.span);
  if (!typed) return undefined;
  if (typed.kind !== "aggregation" || expression.node.case !== "aggregation")
    return refuse("its expression is not one aggregation of rows: give the aggregation a feature of its own, and compute with that");
  const node = expression.node.value;
  if (node.path.length !== 1) return refuse(`it aggregates the rows of another row, _.${node.path.join(".")}`);
  const relation = resolveRelation({ index, set, isWindowed: true }, node.path);
  if (!relation.found || relation.relation.kind.case !== "hasMany") return undefined;
  const { child } = relation;
  const join = relation.relation.kind.value.join;
  if (join.length === 0) return refuse(`_.${node.path.join(".")} has no join by which its rows are told apart`);
  const split = boundsOf(typed, node.filters, refuse);
  if ("code" in split) return split;
  if (child.featureTime !== "" && child.featureTime !== `${child.namespace}.${split.time}`)
    return refuse(
      `it compares _.${split.time} with the window, and the feature time of ${child.className} is another: ${child.featureTime}`,
    );
  if (!split.hasEnd && child.featureTime === "") return refuse(`the window has no end: add _.${split.time} <= _.svc_now to its conditions`);
  const groupParts = typed.grouping?.columns.map((column) => column.typed) ?? [];
  const parts = [...split.filters.map((filter) => filter.typed), typed.column, typed.key?.typed, ...groupParts].filter(
    (part) => part !== undefined,
  );
  for (const part of parts) {
    const why = whyNotLocal(part);
    if (why) return refuse(why);
  }
  if (typed.definition.isOrdered && child.featureTime === "")
    return refuse(`${node.function}() needs the rows' order, and ${child.className} has no feature time`);
  const accumulator = chooseAccumulator(node.function, typed.column?.type, typed.constants, typed.key?.typed.type);
  if (!accumulator) {
    const kept = [...ACCUMULATORS.keys()].join(", ");
    return refuse(`${node.function}() needs all values of its rows, and its state would grow with them; what can be kept is ${kept}`);
  }
  const problem = bucketProblem(name, window ? durationToMicros(window) : 0n, materialization);
  if (problem) return problem;
  const group = join.map(({ foreign }) => lastName(foreign));
  const filters = split.filters.map(({ expression: filter }) => filter);
  const groupBy = node.grouping?.columns.flatMap(({ value }) => value ?? []) ?? [];
  const bucketMicros = durationOf(materialization.bucketDuration);
  const originMicros = materialization.bucketStart ? timestampToMicros(materialization.bucketStart) : 0n;
  const { backfillResolver, backfillSchedule } = materialization;
  const key = JSON.stringify({
    ...{ namespace: child.namespace, group, time: split.time, aggregation: node.function },
    groupTypes: group.map((own) => typeText(child, own)),
    filters: filters.map(withoutSpans).sort(),
    column: node.column ? withoutSpans(node.column) : "",
    columnType: typed.column ? JSON.stringify(typed.column.type) : "",
    choice: node.key ? [withoutSpans(node.key), JSON.stringify(typed.key?.typed.type)] : "",
    ...(groupBy.length > 0 && { groupBy: groupBy.map((one, at) => [withoutSpans(one), JSON.stringify(groupParts[at]?.type)]) }),
    arguments: node.arguments.map((value) => toJsonString(ValueSchema, value)),
    bucket: String(bucketMicros),
    origin: String(((originMicros % bucketMicros) + bucketMicros) % bucketMicros),
    resolver: backfillResolver,
  });
  const order = typed.order === undefined ? [] : [typed.order];
  const reads = new Set([...group, split.time, ...order, ...parts.flatMap(columnsOf)]);
  return {
    series: {
      ...{
        key,
        namespace: child.namespace,
        group,
        time: split.time,
        filters,
        column: node.column,
        columnType: typed.column?.type,
        choice: node.key,
        groupBy,
      },
      ...{ aggregation: node.function, accumulator: grouped(accumulator, typed.grouping), reads: [...reads], bucketMicros, originMicros },
      ...{ backfillResolver, backfillSchedule, bufferMicros: durationOf(materialization.continuousBuffer) },
    },
    relation: relation.relation.fqn,
    local: join.map(({ local }) => lastName(local)),
    resultType: typed.type,
    windowMicros: durationToMicros(window),
    includesStart: split.includesStart,
    includesEnd: split.includesEnd,
  };
}

/** The accumulator of an aggregation, for each group where there are any. */
function grouped(accumulator: ChosenAccumulator, grouping: Grouping | undefined): ChosenAccumulator {
  return grouping ? { ...accumulator, make: groupedAccumulator(grouping.fields, accumulator.make) } : accumulator;
}

/** The number of the bucket that an instant is in. */
export function bucketOf({ bucketMicros, originMicros }: TileSeries, micros: bigint): number {
  const distance = micros - originMicros;
  const rest = distance % bucketMicros;
  return Number((distance - (rest < 0n ? rest + bucketMicros : rest)) / bucketMicros);
}

/** The beginning of a bucket, microseconds since 1970. */
export function bucketStart({ bucketMicros, originMicros }: TileSeries, bucket: number): bigint {
  return originMicros + BigInt(bucket) * bucketMicros;
}

interface Bounds {
  readonly time: string;
  readonly includesStart: boolean;
  readonly includesEnd: boolean;
  readonly hasEnd: boolean;
  readonly filters: readonly { readonly typed: Typed; readonly expression: Expression }[];
}

const MIRRORED: Readonly<Record<string, string>> = { gt: "lt", ge: "le", lt: "gt", le: "ge" };

/** The conditions that are the window's bounds, and the others. */
function boundsOf(typed: Aggregation, given: readonly Expression[], refuse: (why: string) => RuleProblem): Bounds | RuleProblem {
  const filters: { typed: Typed; expression: Expression }[] = [];
  const starts: { time: string; isInclusive: boolean }[] = [];
  const ends: { time: string; isInclusive: boolean }[] = [];
  const visit = (part: Typed, expression: Expression): void => {
    if (part.kind === "call" && part.definition.name === "and" && expression.node.case === "call") {
      for (const [index, argument] of part.arguments.entries()) visit(argument, expression.node.value.arguments[index] as Expression);
      return;
    }
    const bound = boundOf(part);
    if (bound?.of === "window-start" && (bound.operator === "gt" || bound.operator === "ge"))
      starts.push({ time: bound.time, isInclusive: bound.operator === "ge" });
    else if (bound?.of === "now" && (bound.operator === "lt" || bound.operator === "le"))
      ends.push({ time: bound.time, isInclusive: bound.operator === "le" });
    else filters.push({ typed: part, expression });
  };
  for (const [index, filter] of typed.filters.entries()) visit(filter, given[index] as Expression);
  const [start] = starts;
  if (!start) return refuse("no condition compares a time of its rows with _.svc_window, such as _.at > _.svc_window");
  if ([...starts, ...ends].some(({ time }) => time !== start.time)) return refuse("its conditions compare several times with the window");
  return {
    time: start.time,
    includesStart: starts.every(({ isInclusive }) => isInclusive),
    includesEnd: ends.every(({ isInclusive }) => isInclusive),
    hasEnd: ends.length > 0,
    filters,
  };
}

/** A comparison of a time of the row with an end of the window. */
function boundOf(part: Typed): { readonly time: string; readonly operator: string; readonly of: "now" | "window-start" } | undefined {
  if (part.kind !== "call" || !(part.definition.name in MIRRORED)) return undefined;
  const [left, right] = part.arguments;
  if (!left || !right) return undefined;
  const isMirrored = right.kind === "reference";
  const [row, end] = isMirrored ? [right, left] : [left, right];
  if (row.kind !== "reference" || row.scope !== 0 || row.fields.length > 0 || row.column.includes(".")) return undefined;
  if (end.kind !== "now" && end.kind !== "window-start") return undefined;
  const { name } = part.definition;
  return { time: row.column, operator: isMirrored ? (MIRRORED[name] as string) : name, of: end.kind };
}

/** The reason why a part does not follow from the row alone. */
function whyNotLocal(part: Typed): string | undefined {
  switch (part.kind) {
    case "literal":
      return undefined;
    case "reference":
      if (part.scope > 0) return `it reads _.${part.column} of the row outside the brackets`;
      return part.column.includes(".") ? `it reads _.${part.column}, which is not the row's own` : undefined;
    case "call":
      return part.arguments.map(whyNotLocal).find((why) => why !== undefined);
    case "aggregation":
      return `it aggregates _.${part.path} of each row`;
    default:
      return "it compares something with the query's time in another way than a bound of the window";
  }
}

function columnsOf(part: Typed): readonly string[] {
  if (part.kind === "reference") return [part.column];
  return part.kind === "call" ? part.arguments.flatMap(columnsOf) : [];
}

/** Rule 182: buckets that do not fit their window. */
function bucketProblem(feature: string, window: bigint, { bucketDuration }: Materialization): RuleProblem | undefined {
  const bucket = durationOf(bucketDuration);
  const shown = { feature, bucket: durationText(bucket), window: window === ALL_MICROS ? "all" : durationText(window) };
  if (bucket <= 0n || bucket > window) return BAD_BUCKETS.longer(shown);
  if (window / bucket > BigInt(MAX_BUCKETS)) return BAD_BUCKETS.tooMany({ ...shown, buckets: String(window / bucket), most: MAX_BUCKETS });
  return window % bucket === 0n || window === ALL_MICROS ? undefined : BAD_BUCKETS.noMultiple(shown);
}

function durationText(micros: bigint): string {
  return formatDuration(Number(micros / 1000n));
}

function durationOf(duration: Parameters<typeof durationToMicros>[0] | undefined): bigint {
  return duration ? durationToMicros(duration) : 0n;
}

function lastName(fqn: string): string {
  return fqn.slice(fqn.lastIndexOf(".") + 1);
}

function typeText(set: FeatureSet, name: string): string {
  const kind = set.features.find((feature) => feature.name === name)?.kind;
  return kind?.case === "scalar" ? JSON.stringify(kind.value.dtype) : "";
}

/** An expression as text, whatever its place. */
function withoutSpans(expression: Expression): string {
  return JSON.stringify(toJson(ExpressionSchema, expression), (key, value: unknown) => (key === "span" ? undefined : value));
}

/** Values of a group's columns as text: the same for equal values, and for others another. */
export function groupKey(values: readonly FeatureValue[], keyOf: (value: FeatureValue) => string): string | undefined {
  return values.includes(null) ? undefined : values.length === 1 ? keyOf(values[0] as FeatureValue) : JSON.stringify(values.map(keyOf));
}
