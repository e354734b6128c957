/**
 * Deployments for tests: a graph with a real online store, a real SQLite source, and Python
 * resolvers played by functions.
 */

import { Database } from "bun:sqlite";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { type Graph, OutputShape, type Resolver, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../../src/context/clock.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { createLog } from "../../../src/server/log.ts";
import type { PythonPool, ResolverCall, ResolverResult } from "../../../src/server/python/pool.ts";
import type { Answer, AnswerField } from "../../../src/server/query/answer/answer.ts";
import { createEngine, type OnlineEngine } from "../../../src/server/query/create-engine.ts";
import type { LiveDeployment } from "../../../src/server/query/live-deployment.ts";
import { QueryRefused } from "../../../src/server/query/refusal.ts";
import { EMPTY_REQUEST, type QueryRequest } from "../../../src/server/query/request/request.ts";
import type { ColumnType } from "../../../src/server/sql/condition.ts";
import { SqlError, type SqlResult, type SqlSource } from "../../../src/server/sql/source.ts";
import { openSqliteOnlineStore } from "../../../src/server/stores/online/sqlite.ts";
import type { OnlineStore } from "../../../src/server/stores/online/store.ts";
import { featureIdsOf } from "./graphs.ts";

/** A row's result: values by output FQN, or a thrown error. */
export type Played = (args: readonly FeatureValue[], call: ResolverCall, row: number) => unknown;

/**
 * A pool whose resolvers are functions of a row's arguments; a function with one output may give
 * the bare value.
 */
export class PlayedPool implements PythonPool {
  readonly calls: ResolverCall[] = [];
  /** FQNs of calls that have started and not ended. */
  readonly running = new Set<string>();
  /** Most calls seen at once. */
  overlap = 0;

  constructor(
    readonly graph: Graph,
    readonly functions: Readonly<Record<string, Played>>,
  ) {}

  async call(call: ResolverCall): Promise<ResolverResult> {
    this.calls.push(call);
    this.running.add(call.resolver);
    this.overlap = Math.max(this.overlap, this.running.size);
    const resolver = this.graph.resolvers.find((one) => one.fqn === call.resolver);
    const play = this.functions[call.resolver];
    if (!resolver || !play) throw new Error(`no function plays ${call.resolver}`);
    if (resolver.outputShape !== OutputShape.UNSPECIFIED) return this.#playTable(call, resolver, play);
    const columns: Record<string, FeatureValue[]> = Object.fromEntries(resolver.outputs.map((fqn) => [fqn, []]));
    const errors: ResolverResult["errors"][number][] = [];
    try {
      for (let row = 0; row < call.rows; row++) {
        const args = argumentsOf(resolver, call, row);
        try {
          const given = await play(args, call, row);
          const isRecord = given !== null && typeof given === "object" && resolver.outputs.some((fqn) => fqn in given);
          const values = (isRecord ? given : { [resolver.outputs[0] as string]: given }) as Record<string, FeatureValue>;
          for (const fqn of resolver.outputs) columns[fqn]?.push(values[fqn] ?? null);
        } catch (error) {
          if (!(error instanceof PlayedError)) throw error;
          for (const fqn of resolver.outputs) columns[fqn]?.push(null);
          errors.push({ row, code: error.code, message: error.message });
        }
      }
    } finally {
      this.running.delete(call.resolver);
    }
    return { columns, errors, ranMs: 0 };
  }

  /**
   * Resolvers of rows: the function gives a list of objects by FQN, for each row of the batch or
   * once for all.
   */
  async #playTable(call: ResolverCall, resolver: Resolver, play: Played): Promise<ResolverResult> {
    const offsets = [0];
    const columns: Record<string, FeatureValue[]> = Object.fromEntries(resolver.outputs.map((fqn) => [fqn, []]));
    const errors: ResolverResult["errors"][number][] = [];
    try {
      const batches = resolver.outputShape === OutputShape.RELATION ? call.rows : 1;
      for (let row = 0; row < batches; row++) {
        try {
          const rows = (await play(argumentsOf(resolver, call, row), call, row)) as Record<string, FeatureValue>[];
          for (const one of rows) for (const fqn of resolver.outputs) columns[fqn]?.push(one[fqn] ?? null);
        } catch (error) {
          if (!(error instanceof PlayedError)) throw error;
          errors.push({ row, code: error.code, message: error.message });
        }
        offsets.push(Object.values(columns)[0]?.length ?? 0);
      }
    } finally {
      this.running.delete(call.resolver);
    }
    return { columns: {}, groups: { offsets, columns }, errors, ranMs: 0 };
  }

  called(): string[] {
    return this.calls.map((call) => call.resolver);
  }

  health() {
    return { workers: 1, degraded: false };
  }

  async drain(): Promise<void> {}
}

/**
 * What a function is passed for a row: values, the time, child rows as objects, or a table as
 * columns.
 */
function argumentsOf(resolver: Resolver, call: ResolverCall, row: number): FeatureValue[] {
  return resolver.inputs.map((input) => {
    if (input.kind.case === "now") return call.now[row] as string;
    if (input.kind.case === "table") return call.tables?.[input.name] as unknown as FeatureValue;
    if (input.kind.case !== "rows") return call.columns[input.name]?.[row] as FeatureValue;
    const { offsets, columns } = call.groups?.[input.name] ?? { offsets: [], columns: {} };
    const names = Object.keys(columns);
    return Array.from({ length: (offsets[row + 1] ?? 0) - (offsets[row] ?? 0) }, (_, i) =>
      Object.fromEntries(names.map((name) => [name, columns[name]?.[(offsets[row] ?? 0) + i] as FeatureValue])),
    );
  });
}

/** What user code raised. */
export class PlayedError extends Error {
  constructor(
    message: string,
    readonly code: ErrorCode = ErrorCode.RESOLVER_FAILED,
  ) {
    super(message);
  }
}

/** A database in memory that keeps the statements it was given. */
export class MemorySource implements SqlSource {
  readonly kind = SourceKind.SQLITE;
  readonly db = new Database(":memory:");
  readonly statements: { readonly text: string; readonly parameters: readonly FeatureValue[] }[] = [];

  constructor(
    readonly name: string,
    setup: string,
  ) {
    this.db.run(setup);
  }

  quote(identifier: string): string {
    return `"${identifier.replaceAll('"', '""')}"`;
  }

  placeholder(position: number): string {
    return `?${position}`;
  }

  async query(statement: string, parameters: readonly FeatureValue[]): Promise<SqlResult> {
    this.statements.push({ text: statement, parameters });
    try {
      const prepared = this.db.prepare(statement);
      const rows = prepared.values(...(parameters as never[]));
      return { columns: prepared.columnNames, rows };
    } catch (error) {
      throw new SqlError(error instanceof Error ? error.message : String(error));
    }
  }

  async describe(statement: string): Promise<readonly string[]> {
    return this.db.prepare(statement).columnNames;
  }

  async columnTypes(statement: string): Promise<ReadonlyMap<string, ColumnType>> {
    return new Map(this.db.prepare(statement).columnNames.map((name) => [name, "any"]));
  }

  async test(): Promise<void> {}

  async close(): Promise<void> {
    this.db.close();
  }
}

/** What a test's world is made of. */
export interface WorldOptions {
  readonly python?: Readonly<Record<string, Played>>;
  readonly sources?: readonly SqlSource[];
  readonly online?: OnlineStore;
  readonly environment?: string;
}

/** A deployment with an engine and a clock that stands still. */
export class World {
  now = Date.parse("2024-05-01T12:00:00Z");
  readonly pool: PlayedPool;
  readonly online: OnlineStore;
  readonly engine: OnlineEngine;
  readonly deployment: LiveDeployment;
  readonly logged: string[] = [];
  readonly clock: Clock = { now: () => this.now, sleep: (ms) => Bun.sleep(ms) };

  constructor(
    readonly graph: Graph,
    options: WorldOptions = {},
  ) {
    this.pool = new PlayedPool(graph, options.python ?? {});
    this.online = options.online ?? openSqliteOnlineStore(":memory:");
    const sources = options.sources ?? [];
    this.deployment = {
      id: "dpl_1",
      environmentId: "env_1",
      environmentName: options.environment ?? "default",
      scope: "main",
      graph,
      featureIds: featureIdsOf(graph),
      pool: this.pool,
      online: this.online,
      sources: {
        get: (name) => {
          const found = sources.find((source) => source.name === name);
          if (!found) throw new SqlError(`no source '${name}'`);
          return found;
        },
        list: () => sources,
        close: async () => {},
      },
    };
    this.engine = createEngine({
      clock: this.clock,
      log: createLog({ write: (line) => this.logged.push(line), clock: this.clock, level: "debug" }),
    });
  }

  /** Asks, with values as a thin client gives them. */
  async ask(inputs: Readonly<Record<string, unknown>>, outputs: readonly string[] = [], more: Partial<QueryRequest> = {}): Promise<Answer> {
    return this.engine.answer(this.deployment, ask(inputs, outputs, more), this.now);
  }

  /** The values of an answer by path. */
  async values(
    inputs: Readonly<Record<string, unknown>>,
    outputs: readonly string[] = [],
    more: Partial<QueryRequest> = {},
  ): Promise<Record<string, FeatureValue>> {
    return valuesOf(await this.ask(inputs, outputs, more));
  }

  /** The messages with which a query is refused. */
  async refusal(
    inputs: Readonly<Record<string, unknown>>,
    outputs: readonly string[] = [],
    more: Partial<QueryRequest> = {},
  ): Promise<QueryRefused> {
    try {
      await this.ask(inputs, outputs, more);
    } catch (error) {
      if (error instanceof QueryRefused) return error;
      throw error;
    }
    throw new Error("the query was not refused");
  }
}

/** A query as the engine takes it. */
export function ask(
  inputs: Readonly<Record<string, unknown>>,
  outputs: readonly string[] = [],
  more: Partial<QueryRequest> = {},
): QueryRequest {
  return {
    ...EMPTY_REQUEST,
    inputs: Object.entries(inputs).map(([name, value]) => ({ name, form: "typed", value })),
    outputs,
    ...more,
  };
}

/** The values of an answer by path. */
export function valuesOf(answer: Answer): Record<string, FeatureValue> {
  return Object.fromEntries(answer.fields.map((field) => [field.path, field.value]));
}

/** One field of an answer. */
export function fieldOf(answer: Answer, path: string): AnswerField {
  const found = answer.fields.find((field) => field.path === path);
  if (!found) throw new Error(`the answer has no ${path}`);
  return found;
}

/** The code and message with which a field failed. */
export function failureOf(answer: Answer, path: string): { readonly code: string; readonly message: string } {
  const { failure } = fieldOf(answer, path);
  if (!failure) throw new Error(`${path} did not fail`);
  return { code: ErrorCode[failure.code], message: failure.message };
}

/** A store whose answers take a turn of the event loop. */
export function later(inner: OnlineStore): OnlineStore {
  return {
    read: async (...args) => inner.read(...args),
    put: (...args) => inner.put(...args),
    flush: () => inner.flush(),
    dropped: () => inner.dropped(),
    measure: () => inner.measure(),
    measureFeatures: (signal) => inner.measureFeatures(signal),
    eachVector: (...args) => inner.eachVector(...args),
    pending: () => inner.pending(),
    suspend: () => inner.suspend(),
    resume: () => inner.resume(),
    dropScope: async (scope) => inner.dropScope(scope),
    dropFeatures: (featureIds, signal) => inner.dropFeatures(featureIds, signal),
    deleteKeys: (scope, rows, signal) => inner.deleteKeys(scope, rows, signal),
    sweep: (signal) => inner.sweep(signal),
    probe: async () => inner.probe(),
    close: async () => inner.close(),
  };
}
