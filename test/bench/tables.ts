/**
 * Writing a table of 1,000,000 rows and 10 columns as Parquet, and reading it, against DuckDB by
 * hand in this process: typed vectors that are ready are appended to a table, and one COPY.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../gen/svc/v1/value_pb.ts";
import { encodeRows } from "../../src/server/tables/column-values.ts";
import { createTableEngine } from "../../src/server/tables/create-table-engine.ts";
import { DatabaseProcess } from "../../src/server/tables/duckdb/database-process.ts";
import { quoteText } from "../../src/server/tables/duckdb/sql-type.ts";
import type { TableChunk, TableColumn } from "../../src/server/tables/engine.ts";
import { shapeOf } from "../../src/server/tables/shape.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const ROWS = 1_000_000;
const CHUNK = 10_000;
const VECTOR = 2_000;

const of = (name: string, type: PrimitiveType): TableColumn => ({
  name,
  dtype: create(DataTypeSchema, { kind: { case: "primitive", value: type } }),
});
const COLUMNS: readonly TableColumn[] = [
  of("id", PrimitiveType.INT64),
  of("at", PrimitiveType.DATETIME),
  ...["f0", "f1", "f2", "f3"].map((name) => of(name, PrimitiveType.FLOAT64)),
  of("n", PrimitiveType.INT64),
  of("category", PrimitiveType.STRING),
  of("mail", PrimitiveType.STRING),
  of("flag", PrimitiveType.BOOL),
];
const SQL_TYPES =
  'id bigint, "at" timestamptz, f0 double, f1 double, f2 double, f3 double, n bigint, category varchar, mail varchar, flag boolean';

function chunkOf(rows: number, salt: number): TableChunk {
  const each = Array.from({ length: rows }, (_, row) => row + salt * 7_919);
  return {
    rows,
    columns: [
      each,
      each.map((row) => new Date(1_700_000_000_000 + row * 1_000).toISOString().replace("Z", "000Z")),
      ...[1, 2, 3, 4].map((factor) => each.map((row) => ((row * factor * 2_654_435) % 1_000_003) / 100)),
      each.map((row) => (row * 48_271) % 1_000_000),
      each.map((row) => `category-${row % 1_000}`),
      each.map((row) => `user${row}@example.com`),
      each.map((row) => row % 3 === 0),
    ],
  };
}

/** Runs the measure; the sandbox is not needed. */
export async function measureTables(_: Sandbox, rounds: number): Promise<readonly Line[]> {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-tables-"));
  const log = { debug() {}, info() {}, warning() {}, error() {}, enabled: () => false };
  const engine = createTableEngine({
    folder: join(folder, "engine"),
    libraryFolders: [],
    log,
    limits: { memoryBytes: 1024 ** 3, threads: 2 },
  });
  const database = await DatabaseProcess.open({ libraryFolders: [], file: ":memory:", config: { threads: "2", memory_limit: "1GiB" } });
  const connection = await database.connect();
  const chunks = Array.from({ length: 10 }, (_, salt) => chunkOf(CHUNK, salt));
  const frames = Array.from({ length: 10 }, (_, salt) => {
    const { columns } = chunkOf(VECTOR, salt);
    const values = COLUMNS.map((column, at) => ({ ...column, values: columns[at] ?? [] }));
    return encodeRows(
      values,
      COLUMNS.map(() => ({ isWide: false })),
    );
  });
  const path = join(folder, "engine.parquet");
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const before = performance.now();
    await work();
    return performance.now() - before;
  };
  const subjects = {
    engine: () =>
      timed(async () => {
        const writer = await engine.write(path, COLUMNS);
        for (let row = 0; row < ROWS; row += CHUNK) await writer.append(chunks[(row / CHUNK) % chunks.length] as TableChunk);
        await writer.finish();
      }),
    byHand: () =>
      timed(async () => {
        await database.run(connection, `CREATE OR REPLACE TEMP TABLE t (${SQL_TYPES})`);
        const appender = database.beginAppend(
          connection,
          "t",
          COLUMNS.map(({ dtype }) => shapeOf(dtype)),
        );
        for (let row = 0; row < ROWS; row += VECTOR)
          database.append(appender, VECTOR, frames[(row / VECTOR) % frames.length] as Uint8Array);
        database.endAppend(appender);
        await database.run(
          connection,
          `COPY t TO ${quoteText(join(folder, "hand.parquet"))} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)`,
        );
      }),
    read: () =>
      timed(async () => {
        for await (const _ of engine.read(path));
      }),
  };
  try {
    for (const subject of Object.values(subjects)) await subject();
    const found = await interleave(rounds, subjects);
    const [engineMs, handMs, readMs] = [median(found.engine), median(found.byHand), median(found.read)];
    return [
      { what: "1,000,000 x 10 from columns in memory, by hand", value: milliseconds(handMs) },
      {
        what: "the same by the engine, from values of features",
        value: milliseconds(engineMs),
        ratio: engineMs / handMs,
        anchor: "of by hand",
      },
      { what: "read again as values of features", value: milliseconds(readMs), ratio: readMs / handMs, anchor: "of by hand" },
    ];
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
