/** SqlService: statements over what is stored, and the tables that they can name. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { type RunSqlResponse, RunSqlResponseSchema, type SchemaEntrySchema, SqlFormat, SqlService } from "../../../../gen/svc/v1/sql_pb.ts";
import { didYouMean } from "../../../domain/closest.ts";
import { resolveScope } from "../../access/scope.ts";
import { DATASET_CATALOG, HISTORY_CATALOG, matchesPattern, sqlName } from "../../catalog/environment-tables.ts";
import type { StatementOrder } from "../../catalog/statements.ts";
import { Failure } from "../../failure.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

const CATALOGS = [
  { catalog: DATASET_CATALOG, kind: "datasets" },
  { catalog: HISTORY_CATALOG, kind: "history" },
] as const;

const FORMATS: Readonly<Record<SqlFormat, StatementOrder["format"] | undefined>> = {
  [SqlFormat.UNSPECIFIED]: undefined,
  [SqlFormat.PARQUET]: "parquet",
  [SqlFormat.CSV]: "csv",
  [SqlFormat.JSON]: "json",
};

/** Most entries of a list of schemas. */
const MAX_ENTRIES = 10_000;
/** Most characters of a pattern. */
const MAX_PATTERN = 200;
/** Milliseconds between two signs of life. */
const HEARTBEAT_MS = 10_000;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  router.service(SqlService, {
    async *runSql({ statement, format, limit, timeoutMs }, context) {
      const { environment } = await resolveScope(platform.environments, callerOf(context), context.requestHeader);
      const wanted = FORMATS[format];
      if (!wanted) throw new Failure("invalid_argument", "The form of the answer is not stated: Parquet, CSV or JSON.");
      const statements = await platform.statements();
      const messages = createQueue<RunSqlResponse>();
      const order = { environmentId: environment.id, statement, format: wanted, limit: Number(limit), timeoutMs: Number(timeoutMs) };
      const done = statements.run({ ...order, signal: context.signal }, async ({ columns, rows, truncated, bytes, rowsRead, pieces }) => {
        const head = { columns: [...columns], rows: BigInt(rows), truncated, bytes: BigInt(bytes), rowsRead: BigInt(rowsRead) };
        await messages.put(create(RunSqlResponseSchema, { part: { case: "head", value: head } }));
        for await (const piece of pieces) {
          context.signal.throwIfAborted();
          await messages.put(create(RunSqlResponseSchema, { part: { case: "piece", value: piece as Uint8Array<ArrayBuffer> } }));
        }
      });
      const ended = done.finally(() => messages.end());
      ended.catch(() => undefined);
      const beat = setInterval(() => messages.offer(create(RunSqlResponseSchema, {})), HEARTBEAT_MS);
      try {
        yield* messages.take();
        await ended;
      } finally {
        clearInterval(beat);
        messages.end();
      }
    },

    async listCatalogs(_request, context) {
      await resolveScope(platform.environments, callerOf(context), context.requestHeader);
      return { catalogs: CATALOGS.map((catalog) => ({ ...catalog })) };
    },

    async listSchemas({ catalog, schemaPattern, tablePattern, showTables }, context) {
      const { environment } = await resolveScope(platform.environments, callerOf(context), context.requestHeader);
      if (schemaPattern.length > MAX_PATTERN || tablePattern.length > MAX_PATTERN)
        throw new Failure("invalid_argument", `A pattern has at most ${MAX_PATTERN} characters.`);
      const names = CATALOGS.map((one) => one.catalog);
      if (catalog !== "" && !names.some((name) => name === catalog))
        throw new Failure("invalid_argument", `There is no catalog '${catalog.slice(0, 100)}'.`, {
          hint: didYouMean(catalog, names) || `There are ${names.join(" and ")}.`,
        });
      const tables = (await (await platform.statements()).tables(environment.id)).filter(
        ({ name }) =>
          (catalog === "" || name[0] === catalog) && matchesPattern(name[1], schemaPattern) && matchesPattern(name[2], tablePattern),
      );
      const entries = showTables
        ? tables.map((table) => ({ catalog: table.name[0], schema: table.name[1], table: table.name[2], sqlName: sqlName(table) }))
        : [...Map.groupBy(tables, ({ name }) => JSON.stringify(name.slice(0, 2))).values()].map(([first]) => ({
            catalog: first?.name[0] ?? "",
            schema: first?.name[1] ?? "",
          }));
      const shown: MessageInitShape<typeof SchemaEntrySchema>[] = entries.slice(0, MAX_ENTRIES);
      return { schemas: shown, truncated: entries.length > MAX_ENTRIES };
    },
  });
}

/** Messages from one task to another: few wait, so that the sender goes as fast as the receiver. */
interface Queue<T> {
  /** Adds a message; resolves when there is room for another. */
  put(message: T): Promise<void>;
  /** Adds a message if none waits. */
  offer(message: T): void;
  end(): void;
  take(): AsyncIterable<T>;
}

const MOST_WAITING = 4;

function createQueue<T>(): Queue<T> {
  const waiting: T[] = [];
  let isOver = false;
  let changed = Promise.withResolvers<void>();
  const change = (): void => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  return {
    async put(message) {
      waiting.push(message);
      change();
      while (waiting.length >= MOST_WAITING && !isOver) await changed.promise;
    },
    offer(message) {
      if (waiting.length > 0) return;
      waiting.push(message);
      change();
    },
    end() {
      isOver = true;
      change();
    },
    async *take() {
      for (;;) {
        const next = waiting.shift();
        if (next !== undefined) {
          change();
          yield next;
        } else if (isOver) return;
        else await changed.promise;
      }
    },
  };
}
