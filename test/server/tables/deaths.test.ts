/** What becomes of tables when the engine's process dies, files are damaged, and room is short. */

import { afterAll, afterEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { createTableEngine, type TableEngineOptions } from "../../../src/server/tables/create-table-engine.ts";
import type { TableEngine, TableError } from "../../../src/server/tables/engine.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { SILENT_LOG } from "./engine-parts.ts";
import { primitive } from "./random-tables.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-table-failures-"));
const engines: TableEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function startEngine(options: Partial<TableEngineOptions> = {}): { readonly engine: TableEngine; readonly pids: number[] } {
  const pids: number[] = [];
  const home = mkdtempSync(join(folder, "engine-"));
  const engine = createTableEngine({
    folder: home,
    libraryFolders: [join(home, "library")],
    log: SILENT_LOG,
    onStart: (pid) => pids.push(pid),
    ...options,
  });
  engines.push(engine);
  return { engine, pids };
}

const COLUMNS = [
  { name: "n", dtype: primitive(PrimitiveType.INT64) },
  { name: "t", dtype: primitive(PrimitiveType.STRING) },
];
const numbers = (rows: number) => Array.from({ length: rows }, (_, row) => row);
const chunkOf = (rows: number) => ({ rows, columns: [numbers(rows), numbers(rows).map((row) => `text of row ${row}`)] });

async function written(engine: TableEngine, name: string, rows: number): Promise<string> {
  const path = join(folder, name);
  const writer = await engine.write(path, COLUMNS);
  await writer.append(chunkOf(rows));
  await writer.finish();
  return path;
}

const failureOf = (work: Promise<unknown>): Promise<TableError> =>
  work.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: unknown) => error as TableError,
  );

test("a process that was killed is started anew, and a call that it died in is answered all the same", async () => {
  const { engine, pids } = startEngine();
  const path = await written(engine, "kept.parquet", 10);
  process.kill(pids[0] as number, "SIGKILL");
  expect((await engine.describe(path)).rows).toBe(10);
  const asked = engine.profile([path]);
  process.kill(pids.at(-1) as number, "SIGKILL");
  expect((await asked).map(({ name }) => name)).toEqual(["n", "t"]);
  expect(new Set(pids).size).toBe(pids.length);
  expect(pids.length).toBeGreaterThan(1);
});

test("a call is answered that comes at any moment of its process's death", async () => {
  const { engine, pids } = startEngine();
  const path = await written(engine, "moments.parquet", 10);
  for (let moment = 0; moment < 12; moment++) {
    process.kill(pids.at(-1) as number, "SIGKILL");
    // Some work, so that the death is known to this process more or less.
    let spun = 0;
    while (spun < moment * 1_500_000) spun++;
    expect((await engine.describe(path)).rows).toBe(10);
  }
  expect(pids).toHaveLength(13);
});

test("a table whose process dies is not written, nothing of it stays, and the next one is", async () => {
  const { engine, pids } = startEngine();
  const path = join(folder, "cut-off.parquet");
  const writer = await engine.write(path, COLUMNS);
  await writer.append(chunkOf(5_000));
  process.kill(pids[0] as number, "SIGKILL");
  expect((await failureOf(writer.finish())).code).toBe("failed");
  expect(readdirSync(folder).filter((name) => name.startsWith("cut-off"))).toEqual([]);
  await written(engine, "cut-off.parquet", 3);
  expect((await engine.describe(path)).rows).toBe(3);
});

test("a table that is abandoned leaves nothing, and a finished one takes no more", async () => {
  const { engine } = startEngine();
  const writer = await engine.write(join(folder, "abandoned.parquet"), COLUMNS);
  await writer.append(chunkOf(10));
  await writer.abandon();
  expect(await failureOf(writer.append(chunkOf(1)))).toMatchObject({ code: "refused" });
  expect(readdirSync(folder).filter((name) => name.startsWith("abandoned"))).toEqual([]);
});

test("files that are cut off, or of another format, are damaged, and others of that process are read on", async () => {
  const { engine } = startEngine();
  const path = await written(engine, "whole.parquet", 3_000);
  const cut = join(folder, "cut.parquet");
  writeFileSync(cut, readFileSync(path));
  truncateSync(cut, 5_000);
  const text = join(folder, "text.parquet");
  writeFileSync(text, "n,t\n1,a\n");
  const json = join(folder, "text.json");
  writeFileSync(json, '{"n": 1}\n{"n": \n');
  for (const [file, format] of [
    [cut, "parquet"],
    [text, "parquet"],
    [json, "json"],
  ] as const)
    expect(await failureOf(engine.describe(file, format))).toMatchObject({ code: "damaged", message: expect.stringContaining(file) });
  expect(await failureOf(engine.describe(join(folder, "none.parquet")))).toMatchObject({ code: "failed" });
  expect((await engine.describe(path)).rows).toBe(3_000);
});

test("columns that a file does not have, and names that SQL does not tell apart, are refused", async () => {
  const { engine } = startEngine();
  const path = await written(engine, "columns.parquet", 1);
  const read = async () => {
    for await (const _ of engine.read(path, { columns: [{ name: "missing", dtype: primitive(PrimitiveType.INT64) }] })) break;
  };
  expect(await failureOf(read())).toMatchObject({ code: "refused", message: expect.stringContaining("it has n, t") });
  const twice = ["a", "A"].map((name) => ({ name, dtype: primitive(PrimitiveType.INT64) }));
  expect(await failureOf(engine.write(path, twice))).toMatchObject({ code: "refused" });
});

test("a reading that its caller leaves, or ends by a signal, ends", async () => {
  const { engine } = startEngine();
  const path = await written(engine, "left.parquet", 20_000);
  for await (const { rows } of engine.read(path, { chunkRows: 100 })) {
    expect(rows).toBe(100);
    break;
  }
  const leave = new AbortController();
  const read = async () => {
    for await (const _ of engine.read(path, { chunkRows: 100, signal: leave.signal })) leave.abort(new Error("gone"));
  };
  expect((await failureOf(read())).message).toBe("gone");
  expect((await engine.describe(path)).rows).toBe(20_000);
});

test("a table that is larger than memory is written by way of the disk", async () => {
  const { engine } = startEngine({ limits: { memoryBytes: 64 * 1024 ** 2, threads: 2 } });
  const path = join(folder, "large.parquet");
  const writer = await engine.write(path, COLUMNS);
  const long = "x".repeat(1_000);
  for (let part = 0; part < 20; part++)
    await writer.append({ rows: 5_000, columns: [numbers(5_000), numbers(5_000).map((row) => `${part} ${row} ${long}`)] });
  expect((await writer.finish()).rows).toBe(100_000);
  expect((await engine.describe(path)).rows).toBe(100_000);
});

test("its process ends when it is closed, and when its server is killed", async () => {
  const { engine, pids } = startEngine();
  await written(engine, "closed.parquet", 1);
  await engine.close();
  expect(isAlive(pids[0] as number)).toBe(false);
  const program = `
    import { createTableEngine } from ${JSON.stringify(join(import.meta.dir, "../../../src/server/tables/create-table-engine.ts"))};
    const log = { debug() {}, info() {}, warning() {}, error() {} };
    const engine = createTableEngine({ folder: process.argv[1], libraryFolders: [], log, onStart: (pid) => console.log(pid) });
    await engine.write(process.argv[1] + "/x.parquet", [{ name: "n", dtype: { kind: { case: "primitive", value: 1 } } }]);
    setInterval(() => {}, 1000);`;
  const server = Bun.spawn([process.execPath, "-e", program, mkdtempSync(join(folder, "server-"))], { stdout: "pipe", stderr: "inherit" });
  const { value } = await server.stdout.getReader().read();
  const child = Number(new TextDecoder().decode(value));
  expect(isAlive(child)).toBe(true);
  server.kill("SIGKILL");
  await eventually(() => !isAlive(child), "the end of the process");
});

test("what an earlier server left is removed", async () => {
  const home = mkdtempSync(join(folder, "left-"));
  const left = join(home, "tmp", "left.tmp");
  Bun.spawnSync(["mkdir", "-p", join(home, "tmp")]);
  writeFileSync(left, "old");
  const { engine } = startEngine({ folder: home });
  await written(engine, "after.parquet", 1);
  expect(existsSync(left)).toBe(false);
});
