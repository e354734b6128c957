/** Tables of every type, written and read again: by the engine, and by pyarrow. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { createTableEngine } from "../../../src/server/tables/create-table-engine.ts";
import { type TableEngine, TableError } from "../../../src/server/tables/engine.ts";
import { lacks } from "../../harness/needs.ts";
import { patience, seeded } from "../../harness/seed.ts";
import { SILENT_LOG } from "./engine-parts.ts";
import { arrowType, asPythonSays, comesBack, kindsOf, primitive, type RandomTable, READER, randomTables } from "./random-tables.ts";

const lacksPyarrow = lacks("pyarrow", Bun.spawnSync(["python3", "-c", "import pyarrow"], { stderr: "ignore" }).success);

const folder = mkdtempSync(join(tmpdir(), "svc-tables-"));
let engine: TableEngine;
beforeAll(() => {
  engine = createTableEngine({ folder: join(folder, "engine"), libraryFolders: [join(folder, "library")], log: SILENT_LOG });
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

let files = 0;
async function write({ columns, rows, values }: RandomTable): Promise<string> {
  const path = join(folder, `${++files}.parquet`);
  const writer = await engine.write(path, columns);
  await writer.append({ rows, columns: values });
  expect(await writer.finish()).toMatchObject({ rows });
  return path;
}

async function readAll(path: string, options?: Parameters<TableEngine["read"]>[1]): Promise<FeatureValue[][]> {
  const all: FeatureValue[][] = [];
  for await (const { columns } of engine.read(path, options))
    for (const [at, values] of columns.entries()) {
      all[at] ??= [];
      all[at].push(...values);
    }
  return all;
}

const comeBack = ({ columns, values }: RandomTable) =>
  values.map((column, at) => column.map((value) => comesBack(value, (columns[at] as (typeof columns)[number]).dtype)));

test(
  "what is written is read again, value for value, with its types",
  async () => {
    await fc.assert(
      fc.asyncProperty(randomTables(60), async (table) => {
        const path = await write(table);
        const { columns, rows } = await engine.describe(path);
        expect(columns).toEqual([...table.columns]);
        expect(rows).toBe(table.rows);
        expect(await readAll(path)).toStrictEqual(table.rows === 0 ? [] : comeBack(table));
      }),
      seeded(60),
    );
  },
  patience(300_000),
);

test(
  "a table that is made of another has the rows that stay, in their order, and the same types",
  async () => {
    await fc.assert(
      fc.asyncProperty(randomTables(60), fc.nat(70), fc.nat(70), async (table, offset, limit) => {
        const path = await write(table);
        const target = join(folder, `${++files}.parquet`);
        const columns = table.columns.map((column) => ({ ...column, sql: `"${column.name.replaceAll('"', '""')}"` }));
        const rows = Math.max(0, Math.min(table.rows - offset, limit));
        expect(await engine.derive(path, target, { columns, offset, limit })).toMatchObject({ rows });
        expect(await engine.describe(target)).toEqual({ columns: [...table.columns], rows });
        const kept = comeBack(table).map((values) => values.slice(offset, offset + limit));
        expect(await readAll(target)).toStrictEqual(rows === 0 ? [] : kept);
        expect(await engine.derive(path, target, { columns, where: "false" })).toMatchObject({ rows: 0 });
      }),
      seeded(20),
    );
    await expect(engine.derive(join(folder, "none.parquet"), join(folder, "x.parquet"), { columns: [] })).rejects.toThrow("no such file");
  },
  patience(300_000),
);

test.skipIf(lacksPyarrow)(
  "pyarrow reads the same values, under the same names, as types of its own",
  async () => {
    const tables = fc.sample(randomTables(40), seeded(60));
    const paths: string[] = [];
    for (const table of tables) paths.push(await write(table));
    const lines = tables.map(({ columns }, at) => JSON.stringify([paths[at], columns.map(({ dtype }) => kindsOf(dtype))]));
    const python = Bun.spawnSync(["python3", "-X", "utf8", "-c", READER], { stdin: Buffer.from(lines.join("\n")), maxBuffer: 1 << 28 });
    expect(python.stderr.toString()).toBe("");
    const said = python.stdout.toString().trim().split("\n");
    for (const [at, { columns, values }] of tables.entries()) {
      const { names, types, columns: read } = JSON.parse(said[at] as string) as { names: string[]; types: string[]; columns: unknown[][] };
      expect(names).toEqual(columns.map(({ name }) => name));
      for (const [index, { dtype }] of columns.entries()) {
        expect(types[index] as string).toMatch(arrowType(dtype));
        expect(read[index]).toEqual((values[index] as FeatureValue[]).map((value) => asPythonSays(value, dtype)));
      }
    }
  },
  patience(300_000),
);

test("a table has more rows than fit a chunk, in their order, and is read in chunks, in part, and by some of its columns", async () => {
  const rows = 25_001;
  const numbers = Array.from({ length: rows }, (_, row) => row);
  const lists = numbers.map((row) =>
    row % 7 === 0 ? null : Array.from({ length: row % 5 }, (_, item) => (item === 2 ? null : `${row} and some more ${item}`)),
  );
  const columns = [
    { name: "n", dtype: primitive(PrimitiveType.INT64) },
    {
      name: "l",
      dtype: {
        ...primitive(PrimitiveType.INT64),
        kind: {
          case: "list" as const,
          value: { $typeName: "svc.v1.ListType" as const, element: primitive(PrimitiveType.STRING), elementNullable: true, set: false },
        },
      },
    },
  ];
  const path = await write({ columns, rows, values: [numbers, lists] });
  expect(await readAll(path)).toStrictEqual([numbers, lists]);
  const sizes: number[] = [];
  for await (const chunk of engine.read(path, { chunkRows: 3_000, offset: 1, limit: 10_000, columns: columns.slice(0, 1) })) {
    expect(chunk.columns).toEqual([numbers.slice(1 + sizes.length * 3_000, 1 + Math.min(10_000, (sizes.length + 1) * 3_000))]);
    sizes.push(chunk.rows);
  }
  expect(sizes).toEqual([3_000, 3_000, 3_000, 1_000]);
});

test("values that are not of their type, and text that is no Unicode, are refused with the column's name", async () => {
  const cases: readonly (readonly [PrimitiveType, FeatureValue, RegExp])[] = [
    [PrimitiveType.STRING, "half \ud800", /^a text of c is no Unicode/],
    [PrimitiveType.JSON, { deep: ["\udc00"] }, /^a text of c is no Unicode/],
    [PrimitiveType.STRING, 5, /^c: expected str, got int 5$/],
    [PrimitiveType.INT64, 2n ** 63n, /^c: expected int, got int 9223372036854775808$/],
    [PrimitiveType.INT64, 1.5, /^c: expected int, got float 1.5$/],
    [PrimitiveType.DATE, "2024-02-30", /^c: expected date/],
    [PrimitiveType.DATETIME, "soon", /^c: expected datetime/],
    [PrimitiveType.DECIMAL, "1e1001", /^c: expected Decimal/],
    [PrimitiveType.BYTES, "text", /^c: expected bytes/],
  ];
  for (const [type, value, message] of cases) {
    const writer = await engine.write(join(folder, "refused.parquet"), [{ name: "c", dtype: primitive(type) }]);
    const refusal = await writer.append({ rows: 2, columns: [[null, value]] }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(TableError);
    expect(refusal).toMatchObject({ code: "refused", message: expect.stringMatching(message) });
    await writer.abandon();
  }
});
