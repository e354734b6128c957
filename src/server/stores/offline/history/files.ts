/** Samples and exports of the history by files, for more rows than memory holds. */

import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { type DataType, PrimitiveType } from "../../../../../gen/svc/v1/value_pb.ts";
import { syncFile, syncFolder } from "../../../../disk/private-file.ts";
import { primitiveOf } from "../../../../domain/value.ts";
import { typesText } from "../../../tables/create-table-engine.ts";
import { quoteName, quoteText, shapeSql } from "../../../tables/duckdb/sql-type.ts";
import { primitive } from "../../../tables/inferred-type.ts";
import { shapeOf } from "../../../tables/shape.ts";
import { copyToParquet, fileRelation, fileSql } from "../../../tables/table-sql.ts";
import {
  type HistoryBounds,
  type ObservedBounds,
  OfflineStoreError,
  type SampleBounds,
  type TableFeature,
  type TableSampled,
  type TableSampling,
} from "../store.ts";
import type { HistoryCatalog } from "./catalog.ts";
import { type Connection, TableAppender } from "./connection.ts";
import { fromHistory } from "./history-value.ts";
import { insertedSql, keysSql, observedSql, type SampledName, sampleInto } from "./sampling.ts";
import { KEY_TYPES, type KeyKind, nameOfTable, VALUE_CELLS, VALUE_TYPES } from "./tables.ts";

/** A column of a file, computed by SQL. */
interface FileColumn {
  readonly name: string;
  readonly sql: string;
  readonly dtype: DataType;
}

const INT64 = primitive(PrimitiveType.INT64);
const TEXT = primitive(PrimitiveType.STRING);
const INSTANT = primitive(PrimitiveType.DATETIME);
const INTEGERS = /^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$|^UINTEGER$/;
const TIMES = /^TIMESTAMP/;
const NUMBERS = /^(DOUBLE|FLOAT|DECIMAL)$/;

/** Files written through one connection, with temporary tables of its own. */
export class HistoryFiles {
  #tables = 0;

  constructor(
    readonly connection: Connection,
    readonly catalog: HistoryCatalog,
  ) {}

  async sampleTable({ spine, features, bounds = {}, keep = [], target }: TableSampling): Promise<TableSampled> {
    const relation = fileRelation(spine.path, "parquet");
    const types = new Map(
      (await this.#reading(spine.path, this.connection.describe(`select * from ${relation}`))).map(({ name, type }) => [
        name,
        "name" in type ? type.name : "nested",
      ]),
    );
    const typeOf = (name: string): string => {
      const type = types.get(name);
      if (type === undefined) throw new OfflineStoreError("refused", `${spine.path} has no column ${JSON.stringify(name)}`);
      return type;
    };
    const time = timeSql(spine.time, typeOf(spine.time));
    const spines = new Map<string, { readonly table: string; readonly kind: KeyKind }>();
    for (const name of new Set([spine.key, ...features.map(({ key }) => key ?? spine.key)])) {
      const type = typeOf(name);
      const kind: KeyKind | undefined = INTEGERS.test(type) ? "i" : type === "VARCHAR" ? "s" : undefined;
      if (!kind)
        throw new OfflineStoreError("refused", `the column ${JSON.stringify(name)} has keys of type ${type}: integers or text are wanted`);
      const table = this.#name("spine");
      const key = `try_cast(${quoteName(name)} as ${KEY_TYPES[kind]})`;
      const rows = `select file_row_number as rn, ${key} as k, ${time} as t from read_parquet(${quoteText(spine.path)}, file_row_number = true)`;
      await this.#reading(spine.path, this.connection.run(`create temp table ${table} as ${rows}`));
      spines.set(name, { table, kind });
    }
    for (const name of keep) typeOf(name);
    const changedIfAsKnown: Record<string, number> = {};
    const columns: FileColumn[] = [];
    const from = keep.length > 0 ? [`(select ${keep.map(quoteName).join(", ")} from ${relation}) kept`] : [];
    for (const feature of features) {
      const { table, kind } = spines.get(feature.key ?? spine.key) as { table: string; kind: KeyKind };
      const sampled = this.#name("sampled");
      changedIfAsKnown[feature.column] = await this.#sample(sampled, table, kind, feature, bounds);
      const value = await this.#typed(sampled, feature.dtype, feature.column);
      columns.push({ name: feature.column, sql: value.sql, dtype: feature.dtype });
      from.push(...value.tables);
      if (feature.observedAtColumn !== undefined) {
        columns.push({ name: feature.observedAtColumn, sql: instantSql(`${sampled}.observed_at`), dtype: INSTANT });
        if (!value.tables.includes(sampled)) from.push(sampled);
      }
    }
    const [first] = [...spines.values()];
    const count = `select count(*) from ${first?.table}`;
    const [[rows] = []] = await this.connection.rows(count, ["int64"]);
    const selected = [...keep.map((name) => `kept.${quoteName(name)}`), ...columns.map(({ name, sql }) => `${sql} as ${quoteName(name)}`)];
    if (selected.length === 0) throw new OfflineStoreError("refused", "a sample needs a column");
    await this.#write(target, `select ${selected.join(", ")} from ${from.join(" positional join ")}`, columns);
    return { rows: Number(rows), changedIfAsKnown };
  }

  async exportHistory(
    { featureId, dtype }: { readonly featureId: number; readonly dtype: DataType },
    target: string,
    bounds: HistoryBounds & { readonly mostRows?: number },
  ): Promise<{ readonly rows: number }> {
    const tables = this.catalog.tablesOf(featureId);
    const isMixed = tables.length > 1;
    const conditions = [`feature = ${featureId}`, ...observedSql(bounds), ...insertedSql(bounds)].join(" and ");
    if (bounds.mostRows !== undefined) {
      let rows = 0;
      for (const table of tables) rows += await this.#count(`${nameOfTable(table)} where ${conditions}`);
      if (rows > bounds.mostRows) return { rows };
    }
    const parts = tables.map(
      (table, at) =>
        `select ${at} as part, ${isMixed ? "key::varchar" : "key"} as k, * exclude (key, feature) from ${nameOfTable(table)} where ${conditions}`,
    );
    const type = tables[0]?.type ?? "text";
    const nothing = `select 0 as part, null::${tables.length === 0 ? "varchar" : "bigint"} as k, null::${VALUE_TYPES[type]} as value, null::varchar as exact,
      null::double as observed_at, null::double as inserted_at, null::double as known_at, null::bigint as sequence,
      null::bigint as resolver, null::bigint as deployment, null::varchar as operation where false`;
    const exported = this.#name("exported");
    const order = isMixed ? "part, " : "";
    await this.connection.run(
      `create temp table ${exported} as select * from (${parts.length > 0 ? parts.join(" union all ") : nothing}) order by ${order}k, observed_at, sequence`,
    );
    const value = await this.#typed(exported, dtype, "value");
    const word = (id: string): string => `(select nullif(text, '') from word where word.id = ${exported}.${id})`;
    const columns: FileColumn[] = [
      { name: "key", sql: `${exported}.k`, dtype: tables[0]?.keys === "i" && !isMixed ? INT64 : TEXT },
      { name: "value", sql: value.sql, dtype },
      { name: "observed_at", sql: instantSql(`${exported}.observed_at`), dtype: INSTANT },
      { name: "inserted_at", sql: instantSql(`${exported}.inserted_at`), dtype: INSTANT },
      { name: "known_at", sql: instantSql(`coalesce(${exported}.known_at, ${exported}.inserted_at)`), dtype: INSTANT },
      { name: "sequence", sql: `${exported}.sequence`, dtype: INT64 },
      { name: "resolver", sql: word("resolver"), dtype: TEXT },
      { name: "deployment", sql: word("deployment"), dtype: TEXT },
      { name: "operation", sql: `${exported}.operation`, dtype: TEXT },
    ];
    const from = [...new Set([exported, ...value.tables])].join(" positional join ");
    await this.#write(target, `select ${columns.map(({ name, sql }) => `${sql} as ${quoteName(name)}`).join(", ")} from ${from}`, columns);
    return { rows: await this.#count(exported) };
  }

  async exportKeys(
    { environmentId, namespace }: { readonly environmentId: string; readonly namespace: string },
    target: string,
    bounds: ObservedBounds,
    limit?: number,
  ): Promise<{ readonly rows: number }> {
    const parts = keysSql(this.catalog, environmentId, namespace, bounds);
    const isMixed = parts.length > 1;
    const all = parts.map(({ sql }) => `select ${isMixed ? "key::varchar" : "key"} as key from (${sql})`).join(" union ");
    const chosen = limit === undefined ? "" : `order by hash(key), key limit ${limit}`;
    const keys = this.#name("keys");
    const some = parts.length > 0 ? `select key from (${all}) ${chosen}` : "select null::varchar as key where false";
    await this.connection.run(`create temp table ${keys} as select key from (${some}) order by key`);
    await this.#write(target, `select key from ${keys}`, [
      { name: "key", sql: "key", dtype: parts[0]?.keys === "i" && !isMixed ? INT64 : TEXT },
    ]);
    return { rows: await this.#count(keys) };
  }

  /**
   * Makes a table with a row for each of the spine, in its order: `value`, of text `exact`, and
   * `observed_at` where it is wanted. Returns how many rows are others as known.
   */
  async #sample(into: string, spine: string, kind: KeyKind, feature: TableFeature, bounds: SampleBounds): Promise<number> {
    const { featureId, ttlMs = Number.POSITIVE_INFINITY } = feature;
    const table = this.catalog.tablesOf(featureId).find(({ keys }) => keys === kind);
    if (!table) {
      const type = VALUE_TYPES[this.catalog.features.get(featureId)?.type ?? "text"];
      await this.connection.run(
        `create temp table ${into} as select null::${type} as value, null::varchar as exact, null::double as observed_at from ${spine}`,
      );
      return 0;
    }
    const observed = { table: nameOfTable(table), featureId };
    const wanted: SampledName[] = ["value"];
    if (table.type === "text" || table.type === "json") wanted.push("exact");
    if (feature.observedAtColumn !== undefined) wanted.push("observed_at");
    return sampleInto(this.connection, into, { spine, observed, ttlMs, bounds, wanted });
  }

  /**
   * The expression of a table's values as a type, and the tables that it needs, row by row. What
   * the engine cannot convert exactly goes through values in memory, a chunk at a time.
   */
  async #typed(table: string, dtype: DataType, name: string): Promise<{ readonly sql: string; readonly tables: readonly string[] }> {
    const columns = await this.connection.describe(`select value from ${table}`);
    const storedType = columns[0]?.type;
    const stored = storedType && "name" in storedType ? storedType.name : "";
    const kind = dtype.kind.case;
    const base = primitiveOf(dtype);
    const isComputed = kind === "list" || kind === "struct" || base === PrimitiveType.DECIMAL || base === PrimitiveType.JSON;
    if (!isComputed) {
      if (stored === "VARCHAR" && base === PrimitiveType.STRING) await this.#refuseInexact(table, name);
      return { sql: `cast(${table}.value as ${shapeSql(shapeOf(dtype))})`, tables: [table] };
    }
    const typed = this.#name("typed");
    await this.connection.run(`create temp table ${typed} (v ${shapeSql(shapeOf(dtype))})`);
    const appender = new TableAppender(this.connection, typed, [{ name, dtype }]);
    const type = base === PrimitiveType.DECIMAL ? "text" : "json";
    for await (const [values = [], exact = []] of this.connection.columns(`select value, exact from ${table}`, [VALUE_CELLS[type], "text"]))
      appender.append([values.map((value, row) => fromHistory(type, value, exact[row] ?? null))]);
    appender.end();
    return { sql: `cast(${typed}.v as ${fileSql(dtype, appender.isWide(0))})`, tables: [typed] };
  }

  /** Text that no file can hold is not replaced silently. */
  async #refuseInexact(table: string, name: string): Promise<void> {
    const [[count] = []] = await this.connection.rows(`select count(*) from ${table} where exact is not null`, ["int64"]);
    if (Number(count) > 0)
      throw new OfflineStoreError(
        "refused",
        `${count} values of ${name} are no Unicode: they have half of a pair of surrogates, and a file cannot hold them`,
      );
  }

  /** Writes a file that appears under its name when it is whole and on the disk. */
  async #write(target: string, query: string, columns: readonly FileColumn[]): Promise<void> {
    const partial = `${target}.${crypto.randomUUID()}.partial`;
    try {
      await this.connection.run(copyToParquet(query, partial, typesText(columns)));
      syncFile(partial);
      renameSync(partial, target);
      syncFolder(dirname(target));
    } catch (error) {
      rmSync(partial, { force: true });
      throw error;
    }
  }

  /** What a caller's file gives; it may be damaged. */
  async #reading<T>(path: string, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof Error) || /^(Out of Memory|INTERRUPT)/i.test(error.message)) throw error;
      throw new OfflineStoreError("refused", `${path} cannot be read: ${error.message}`);
    }
  }

  async #count(table: string): Promise<number> {
    const [[count] = []] = await this.connection.rows(`select count(*) from ${table}`, ["int64"]);
    return Number(count);
  }

  #name(what: string): string {
    return `${what}_${++this.#tables}`;
  }
}

/** A spine's time as epoch milliseconds; null where there is none. */
function timeSql(name: string, type: string): string {
  const column = quoteName(name);
  if (TIMES.test(type)) return `case when isfinite(${column}) then epoch_us(${column}) / 1000.0 end`;
  if (type === "DATE") return `case when isfinite(${column}) then epoch_us(${column}::timestamp) / 1000.0 end`;
  if (INTEGERS.test(type) || NUMBERS.test(type)) return `case when not isnan(${column}::double) then ${column}::double end`;
  throw new OfflineStoreError(
    "refused",
    `the column ${JSON.stringify(name)} has times of type ${type}: timestamps, or numbers of milliseconds, are wanted`,
  );
}

/** Microseconds of the first and the last moment of the years 1 to 9999. */
const FIRST_MICROS = -62_135_596_800_000_000n;
const LAST_MICROS = 253_402_300_799_999_999n;

/**
 * Epoch milliseconds as a time with microseconds. What is before the year 1 or after 9999, where a
 * number of milliseconds is not exact, is the nearest moment that is not.
 */
function instantSql(milliseconds: string): string {
  const micros = `round(greatest(least(${milliseconds} * 1000, 1e18), -1e18))::bigint`;
  return `case when ${milliseconds} is not null then make_timestamptz(greatest(least(${micros}, ${LAST_MICROS}), ${FIRST_MICROS})) end`;
}
