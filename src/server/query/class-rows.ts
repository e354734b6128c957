/**
 * Rows of a class between two times, all of them: those of a resolver that takes nothing, or of a
 * table. Tiles are made of them.
 */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { isInEnvironment } from "../../domain/in-environment.ts";
import { INCREMENTAL_PLACEHOLDER } from "../../domain/sql/statement.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { RowTest } from "../expressions/row-test.ts";
import type { Log } from "../log.ts";
import type { GraphIndex } from "./graph/graph-index.ts";
import type { NamespaceInfo, ResolverInfo, ScalarInfo, SqlInfo } from "./graph/index-types.ts";
import type { LiveDeployment } from "./live-deployment.ts";
import { checked, checkedColumn } from "./ops/rows-source.ts";
import { runScan } from "./ops/scan-op.ts";
import { sqlFilter } from "./ops/sql-filter.ts";
import { boundStatement, exactColumnNames, placeValues } from "./ops/sql-statement.ts";
import { repetitionInRows } from "./ops/unique-rows.ts";
import { gives } from "./plan/calls.ts";
import { QueryContext } from "./query-context.ts";
import { QueryRefused, refusal } from "./refusal.ts";
import { EMPTY_REQUEST } from "./request/request.ts";
import { rangeOf } from "./run/query-time.ts";

/** Which rows are wanted. */
export interface ClassRowsRequest {
  readonly namespace: string;
  /** Names of the features that are read of each row. */
  readonly features: readonly string[];
  /** Name of the feature that is a row's time. */
  readonly time: string;
  /** FQN of a resolver, or its last part; empty = the one that gives the rows to queries. */
  readonly resolver: string;
  /** Tags for choosing the resolver; empty = those of resolvers do not matter. */
  readonly tags: readonly string[];
  /** Table whose rows are read in place of a resolver's. */
  readonly table?: ClassTable | undefined;
  /** Epoch milliseconds: the time that resolvers are given. */
  readonly now: number;
}

/** A table with rows of a class. */
export interface ClassTable {
  /** Names of its columns: of features, with their namespace or without; others are not read. */
  readonly names: readonly string[];
  /** All rows, in chunks of the columns that are asked for, in that order. */
  read(
    names: readonly string[],
    signal: AbortSignal,
  ): AsyncIterable<{ readonly rows: number; readonly columns: readonly (readonly FeatureValue[])[] }>;
}

/** A time, microseconds since 1970. */
export interface TimeSpan {
  /** Undefined = from the beginning. */
  readonly from: bigint | undefined;
  readonly until: bigint;
}

/** Rows as they were read; those beside the time may be among them. */
export interface ReadClassRows {
  readonly rows: number;
  /** By the feature's name. */
  readonly columns: ReadonlyMap<string, readonly FeatureValue[]>;
  /** Why there is no value, by the feature's name and row. */
  readonly failures: ReadonlyMap<string, ReadonlyMap<number, string>>;
}

/** The rows of a class. */
export interface ClassRows {
  /** FQN of the resolver; empty = they are those of a table. */
  readonly resolver: string;
  /** Tags of the resolver. */
  readonly tags: readonly string[];
  /** Whether a part of the time costs a part of the work: a database leaves out other rows. */
  readonly isSelective: () => Promise<boolean>;
  /** Reads the rows of a time, in parts. Throws when the resolver fails. */
  read(span: TimeSpan, signal: AbortSignal): AsyncIterable<ReadClassRows>;
  /** Counts the rows of a time. */
  count(span: TimeSpan, signal: AbortSignal): Promise<number>;
}

/** Prepares the reading. Throws QueryRefused. */
export function createClassRows(
  { namespace: name, features, time, resolver: wanted, tags, table, now }: ClassRowsRequest,
  { deployment, index, log }: { readonly deployment: LiveDeployment; readonly index: GraphIndex; readonly log: Log },
): ClassRows {
  const namespace = index.namespaces.get(name) as NamespaceInfo;
  const infoOf = (feature: string): ScalarInfo => index.scalars.get(`${name}.${feature}`) as ScalarInfo;
  const infos = features.map(infoOf);
  if (table) return tableRows(namespace, infos, time, table);
  const resolver = chosenResolver(index, namespace, infos, wanted, tags);
  const contextOf = (signal: AbortSignal): QueryContext =>
    new QueryContext({
      ...{
        deployment,
        request: EMPTY_REQUEST,
        tags: tags.length > 0 ? tags : resolver.tags,
        receivedAt: now,
        log,
        signal,
        compile: index.compile,
      },
      ...{ tracing: undefined, operation: undefined, meter: undefined },
    });
  const named = (found: ReturnType<typeof checked>): ReadClassRows => ({
    rows: found.rows,
    columns: new Map([...found.columns].map(([{ name: feature }, values]) => [feature, values])),
    failures: new Map(
      [...found.broken].map(([{ name: feature }, rows]) => [feature, new Map([...rows].map(([row, { message }]) => [row, message]))]),
    ),
  });
  const { sql } = resolver;
  if (!sql) {
    const scanned = async (signal: AbortSignal): Promise<ReadClassRows> => {
      const context = contextOf(signal);
      const { columns, rows } = await runScan(context, undefined, resolver, context.now);
      return named(checked({ groups: [], columns, rows }, new Set(infos), resolver, name));
    };
    return {
      resolver: resolver.fqn,
      tags: resolver.tags,
      isSelective: async () => false,
      async *read(_, signal) {
        yield await scanned(signal);
      },
      count: async (span, signal) => countIn(await scanned(signal), time, span),
    };
  }
  const statement = statementOf(deployment, namespace, sql, infoOf(time));
  const queried = async (span: TimeSpan, wanted: readonly ScalarInfo[], signal: AbortSignal): Promise<ReadClassRows> => {
    const read = [...new Set([...wanted, ...resolver.uniqueOn])];
    const { text, parameters } = await statement(span, read, contextOf(signal));
    const { rows, types } = await deployment.sources.get(sql.source).query(text, parameters, signal);
    const repeated = repetitionInRows(resolver, { rows, types }, (feature) => read.indexOf(feature));
    if (repeated) throw repeated;
    const raw = {
      groups: [],
      columns: new Map(wanted.map((feature, position) => [feature, rows.map((row) => row[position])])),
      types: new Map(wanted.map((feature, position) => [feature, types?.[position]])),
      rows: rows.length,
    };
    return named(checked(raw, new Set(wanted), resolver, name));
  };
  return {
    resolver: resolver.fqn,
    tags: resolver.tags,
    isSelective: async () => (await statement({ from: 0n, until: 1n }, infos, contextOf(new AbortController().signal))).isSelective,
    async *read(span, signal) {
      yield await queried(span, infos, signal);
    },
    // Databases let rows beside the time through where they compare times in text.
    count: async (span, signal) => countIn(await queried(span, [infoOf(time)], signal), time, span),
  };
}

/** The rows of a table. Throws QueryRefused where it has no column of a feature. */
function tableRows(
  { className, name: namespace }: NamespaceInfo,
  features: readonly ScalarInfo[],
  time: string,
  { names, read }: ClassTable,
): ClassRows {
  const columnOf = ({ fqn, name }: ScalarInfo): string => {
    const found = names.find((own) => own === fqn) ?? names.find((own) => own === name);
    if (found !== undefined) return found;
    throw refused(`the statement gives no column '${name}' of ${className}; it gives ${names.slice(0, TOLD_COLUMNS).join(", ")}`);
  };
  const wanted = new Map(features.map((feature) => [feature, columnOf(feature)]));
  const rowsOf = async function* (asked: readonly ScalarInfo[], signal: AbortSignal): AsyncGenerator<ReadClassRows> {
    const chunks = read(
      asked.map((feature) => wanted.get(feature) as string),
      signal,
    );
    for await (const chunk of chunks) {
      const found = asked.map((feature, at) => {
        const values = chunk.columns[at] ?? [];
        return { feature, ...checkedColumn(feature, values, feature.lenient, { fqn: "the statement" }, namespace) };
      });
      yield {
        rows: chunk.rows,
        columns: new Map(found.map(({ feature, values }) => [feature.name, values])),
        failures: new Map(
          found.map(({ feature, failures }) => [feature.name, new Map([...failures].map(([row, { message }]) => [row, message]))]),
        ),
      };
    }
  };
  return {
    resolver: "",
    tags: [],
    isSelective: async () => false,
    read: (_, signal) => rowsOf(features, signal),
    async count(span, signal) {
      let count = 0;
      const times = features.filter((feature) => feature.name === time);
      for await (const part of rowsOf(times, signal)) count += countIn(part, time, span);
      return count;
    },
  };
}

/** Columns of a table that a message tells. */
const TOLD_COLUMNS = 20;

/** The number of rows of a time. */
function countIn({ columns, rows }: ReadClassRows, time: string, { from, until }: TimeSpan): number {
  const times = columns.get(time) ?? [];
  const [first, end] = [from === undefined ? "" : formatMicros(from), formatMicros(until)];
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const at = times[row];
    if (typeof at === "string" && at >= first && at < end) count++;
  }
  return count;
}

/** Makes statements that read columns of the rows of a time. */
function statementOf({ sources }: LiveDeployment, namespace: NamespaceInfo, sql: SqlInfo, time: ScalarInfo) {
  return async ({ from, until }: TimeSpan, wanted: readonly ScalarInfo[], context: QueryContext) => {
    const source = sources.get(sql.source);
    const exactName = await (exactColumnNames(sql, source) ?? ((column: string) => column));
    const column = (feature: ScalarInfo) => {
      const name = exactName(sql.columns.get(feature.fqn) ?? feature.name);
      return { name, quoted: `q.${source.quote(name)}` };
    };
    const bound = (operator: "ge" | "lt", micros: bigint): RowTest => ({
      ...{ kind: "compare", path: time.name, operator, value: { literal: formatMicros(micros) } },
    });
    const tests = [...(from === undefined ? [] : [bound("ge", from)]), bound("lt", until)];
    const target = { sql, source, namespace, keys: [], column, times: rangeOf([context.now]) };
    const filter = await sqlFilter({ kind: "all", tests }, target);
    const columns = wanted.map((feature) => column(feature).quoted).join(", ");
    const where = filter ? ` where ${filter.text(sql.places.length + 1)}` : "";
    return {
      text: `select ${columns} from (\n${boundStatement(sql, source)}\n) q${where}`,
      parameters: [...placeValues(sql, context.now.text, undefined), ...(filter?.parameters ?? [])],
      isSelective: filter !== undefined,
    };
  };
}

/** The resolver whose rows are read: one with all rows first, then SQL, then by name. */
function chosenResolver(
  index: GraphIndex,
  namespace: NamespaceInfo,
  features: readonly ScalarInfo[],
  wanted: string,
  tags: readonly string[],
): ResolverInfo {
  const carried = (tag: string): boolean => tags.some((given) => given === tag || given.startsWith(`${tag}:`));
  const whyUnfit = ({ tags: own }: ResolverInfo): string | undefined =>
    tags.length === 0 || own.every(carried) ? undefined : `it needs the tags ${own.join(", ")}`;
  const all = [...index.resolvers.values()].sort((a, b) => (a.fqn < b.fqn ? -1 : 1));
  if (wanted !== "") {
    const named = all.filter(({ fqn }) => fqn === wanted || fqn.endsWith(`.${wanted}`));
    const [only] = named;
    if (!only) {
      const near = didYouMean(
        wanted,
        all.map(({ fqn }) => fqn),
      );
      throw refused(`there is no resolver '${wanted}'; ${near || "`svc resolvers` shows them"}`);
    }
    const why = whyNot(index, only, features) ?? whyUnfit(only);
    if (why !== undefined) throw refused(`${only.fqn} cannot give the rows of ${namespace.className}: ${why}`);
    return only;
  }
  const able = all.filter((resolver) => whyNot(index, resolver, features) === undefined);
  const rank = (resolver: ResolverInfo): number => Number(!resolver.total) * 4 + Number(resolver.offline) * 2 + Number(!resolver.sql);
  const matched = (resolver: ResolverInfo): number => (tags.length === 0 ? 0 : resolver.tags.length);
  const fit = able.filter((resolver) => whyUnfit(resolver) === undefined);
  const [best] = fit.sort((a, b) => matched(b) - matched(a) || rank(a) - rank(b));
  if (best) return best;
  const [tagged] = able;
  if (tagged) throw refused(`${tagged.fqn} gives all rows of ${namespace.className}, but ${whyUnfit(tagged)}, which --tag does not name`);
  const needed = features.map(({ fqn }) => fqn).join(", ");
  const stream = features.find((feature) => feature.stream !== undefined)?.stream;
  const others =
    stream === undefined ? "" : `. The stream ${stream} counts each message in the tiles as it reads it: that needs no backfill`;
  throw refused(
    `no resolver gives all rows of ${namespace.className} with ${needed}: write one that takes no features, such as a SQL file${others}`,
  );
}

function whyNot({ environmentName }: GraphIndex, resolver: ResolverInfo, features: readonly ScalarInfo[]): string | undefined {
  if (resolver.broken) return resolver.broken;
  if (!isInEnvironment(resolver.environments, environmentName)) return `it does not exist in ${environmentName}`;
  if (resolver.sql ? !resolver.sql.parameters.every(isTime) : resolver.shape !== "rows" || !resolver.inputs.every(({ now }) => now))
    return "it takes features";
  const missing = features.filter((feature) => !gives(resolver, feature));
  return missing.length > 0 ? `it does not give ${missing.map(({ fqn }) => fqn).join(", ")}` : undefined;
}

/** A statement that reads only what is new gives not all rows. */
function isTime({ now, name }: SqlInfo["parameters"][number]): boolean {
  return now && name !== INCREMENTAL_PLACEHOLDER;
}

function refused(why: string): QueryRefused {
  return new QueryRefused([refusal(ErrorCode.INVALID_QUERY, why)]);
}
