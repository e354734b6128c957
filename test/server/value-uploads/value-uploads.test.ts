/** Uploads of values on a real server whose files are read apart from it. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  FeatureDataService,
  type UploadOptionsSchema,
  UploadTarget,
  ValueFileFormat,
  type ValueUpload,
  ValueUploadState,
} from "../../../gen/svc/v1/feature_data_pb.ts";
import { JobService } from "../../../gen/svc/v1/job_pb.ts";
import { DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { msToTimestamp } from "../../../src/domain/proto-time.ts";
import { toProtoValue } from "../../../src/domain/proto-value.ts";
import { formatMicros } from "../../../src/domain/timestamp.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { createLog } from "../../../src/server/log.ts";
import { createTableEngine } from "../../../src/server/tables/create-table-engine.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";
import { type SpawnedServer, spawnServer } from "../../harness/spawned-server.ts";
import { ask } from "../deletions/asking.ts";
import { deploy, expectLive, type ProjectFiles } from "../deployments/deploying.ts";

const PROJECT: ProjectFiles = {
  "features.py": `from datetime import datetime
from svc.features import FeatureTime, feature, features

@features(max_staleness="1d")
class User:
    id: int
    name: str
    score: float | None
    tags: list[str]
    secret: str = feature(store_online=False, store_offline=False)
    past: int = feature(store_online=False)

@features(max_staleness="1d")
class Login:
    id: str
    at: FeatureTime
    ok: bool
`,
  "resolvers.py": `from svc import online
from features import User

@online
def get_name(id: User.id) -> User.name:
    return "computed"
`,
};

type Options = MessageInitShape<typeof UploadOptionsSchema>;

/** A stored value: of which feature, key and time; and of observations, when it was known. */
interface Cell {
  readonly name: string;
  readonly key: string;
  readonly value: unknown;
  readonly at: number;
  readonly known?: number | null;
}

/** What a node's files hold, in order. */
function stored(folder: string): { readonly online: readonly Cell[]; readonly offline: readonly Cell[] } {
  using meta = new Database(join(folder, "meta.db"), { readonly: true });
  const names = new Map(
    meta
      .query<{ id: number; fqn: string }, []>("select id, fqn from feature")
      .all()
      .map(({ id, fqn }) => [id, fqn]),
  );
  using online = new Database(join(folder, "online.db"), { readonly: true });
  const cells = online
    .query<{ fid: number; key: string; value: string; at: number }, []>(
      "select fid, pk as key, value, observed_at as at from online where scope = 'main' order by fid, pk",
    )
    .all()
    .map(({ fid, value, ...cell }) => ({ name: names.get(fid) ?? "?", ...cell, value: JSON.parse(value) }));
  using offline = new Database(join(folder, "offline.db"), { readonly: true });
  offline.run("pragma busy_timeout = 60000");
  const tables = offline.query<{ fid: number; name: string }, []>("select fid, table_name as name from version order by fid").all();
  const observations = tables.flatMap(({ fid, name: table }) =>
    offline
      .query<Omit<Cell, "name">, []>(
        `select pk as key, value, observed_at as at, known_at as known from "${table}" where op = 'upload' order by seq`,
      )
      .all()
      .map((one) => ({ name: names.get(fid) ?? "?", ...one })),
  );
  return { online: cells, offline: observations };
}

const primitive = (value: PrimitiveType) => create(DataTypeSchema, { kind: { case: "primitive", value } });
const [INT, FLOAT, TIME] = [primitive(PrimitiveType.INT64), primitive(PrimitiveType.FLOAT64), primitive(PrimitiveType.DATETIME)];

const HOUR = 3_600_000;

describe("uploads of values", () => {
  let folder: TempFolder;
  let server: TestServer;
  const data = () => join(folder.path, "data");
  const service = () => server.client(FeatureDataService);
  beforeAll(async () => {
    folder = new TempFolder();
    server = await TestServer.start(folder.path);
    await server.server.ready;
    expectLive(await deploy(server, PROJECT));
  }, 300_000);
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const call = (columns: Record<string, readonly FeatureValue[]>, options: Options = {}, headers: Record<string, string> = {}) =>
    server.client(FeatureDataService, { headers }).uploadValues({
      columns: Object.entries(columns).map(([name, values]) => ({ name, values: values.map((value) => toProtoValue(value)) })),
      options,
    });
  const put = async (bytes: string | Uint8Array<ArrayBuffer>): Promise<string> => {
    const content = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
    const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex");
    const { uploadId, url } = await service().announceValueFile({ sha256, sizeBytes: BigInt(content.length) });
    expect((await fetch(new URL(url, server.url), { method: "PUT", body: content })).status).toBe(201);
    return uploadId;
  };
  const ended = async (id: string): Promise<ValueUpload> => {
    let last: ValueUpload | undefined;
    await eventually(async () => {
      last = (await service().getValueUpload({ id })).upload;
      return last?.state === ValueUploadState.SUCCEEDED || last?.state === ValueUploadState.FAILED;
    }, "the upload ends");
    return last as ValueUpload;
  };
  const upload = async (bytes: string | Uint8Array<ArrayBuffer>, format: ValueFileFormat, options: Options = {}): Promise<ValueUpload> =>
    ended((await service().uploadValueFile({ uploadId: await put(bytes), format, options })).upload?.id ?? "");
  const valuesOf = (name: string, store: "online" | "offline" = "offline") => stored(data())[store].filter((one) => one.name === name);

  test("with a call are in both stores when it answers, and are served", async () => {
    const now = Date.now();
    const answer = await call({ "user.id": [1, 2], "user.name": ["ann", "bob"], "user.score": [1.5, null] });
    expect(answer).toMatchObject({ rows: 2n, onlineValues: 4n, offlineValues: 4n, deletedValues: 0n });
    expect(valuesOf("user.name").map(({ key, value, known }) => [key, value, known])).toEqual([
      ["i:1", "ann", null],
      ["i:2", "bob", null],
    ]);
    expect(valuesOf("user.score", "online").map(({ value }) => value)).toEqual([1.5, null]);
    expect(Math.abs((valuesOf("user.name")[0]?.at ?? 0) - now)).toBeLessThan(60_000);
    expect((await ask(server, { "user.id": 1 }, ["user.name", "user.score"])).data?.map(({ value }) => value)).toEqual(["ann", 1.5]);
  });

  test("have their times from a column, and never take the place of newer values", async () => {
    const now = Date.now();
    const at = (hours: number) => new Date(now - hours * HOUR).toISOString();
    await call({ "user.id": [10, 10, 11], "user.name": ["old", "newer", "x"], when: [at(3), at(1), at(2)] }, { timeColumn: "when" });
    await call({ "user.id": [10], "user.name": ["between"] }, { time: msToTimestamp(now - 2 * HOUR), knownAt: msToTimestamp(now - HOUR) });
    expect(
      valuesOf("user.name", "online")
        .filter(({ key }) => key === "i:10")
        .map(({ value }) => value),
    ).toEqual(["newer"]);
    const history = valuesOf("user.name").filter(({ key }) => key === "i:10");
    expect(history.map(({ value, at: time, known }) => [value, now - time, known === null ? null : now - (known ?? 0)])).toEqual([
      ["old", 3 * HOUR, null],
      ["newer", HOUR, null],
      ["between", 2 * HOUR, HOUR],
    ]);
    // A class's feature time says when its rows were observed.
    await call({ "login.id": ["a"], "login.at": [at(5)], "login.ok": [true], "user.id": [12], "user.name": ["both"] });
    expect(valuesOf("login.ok").map(({ at: time }) => now - time)).toEqual([5 * HOUR]);
    expect(now - (valuesOf("user.name").at(-1)?.at ?? 0)).toBeLessThan(HOUR);
  });

  test("are of one store where that is asked for, and of a branch in its online scope alone", async () => {
    const written = async (id: number, options: Options, headers: Record<string, string> = {}) => {
      const { onlineValues, offlineValues } = await call({ "user.id": [id], "user.name": ["x"] }, options, headers);
      return [onlineValues, offlineValues];
    };
    expect(await written(20, { target: UploadTarget.ONLINE })).toEqual([1n, 0n]);
    expect(await written(21, { target: UploadTarget.OFFLINE })).toEqual([0n, 1n]);
    expect(await written(22, { dryRun: true })).toEqual([0n, 0n]);
    expectLive(await deploy(server, PROJECT, { branch: "b" }));
    expect(await written(23, {}, { "svc-branch": "b" })).toEqual([1n, 0n]);
    const keys = (store: "online" | "offline") => valuesOf("user.name", store).map(({ key }) => Number(key.slice(2)));
    expect([20, 21, 22, 23].map((id) => [keys("online").includes(id), keys("offline").includes(id)])).toEqual([
      [true, false],
      [false, true],
      [false, false],
      [false, false],
    ]);
  }, 300_000);

  test("of rows that were deleted since their time stay out", async () => {
    const now = Date.now();
    await service().deleteValues({ selection: { features: ["user.name"], keys: ["30"] } });
    const answer = await call({ "user.id": [30, 31], "user.name": ["x", "y"] }, { time: msToTimestamp(now - HOUR) });
    expect(answer).toMatchObject({ rows: 2n, onlineValues: 1n, offlineValues: 1n, deletedValues: 1n });
    expect(valuesOf("user.name").filter(({ key }) => key === "i:30")).toEqual([]);
  });

  const future = () => new Date(Date.now() + HOUR).toISOString();
  const REFUSED: readonly (readonly [why: string, columns: () => Record<string, FeatureValue[]>, options: Options, says: RegExp])[] = [
    ["an unknown column", () => ({ "user.id": [1], "user.nme": ["x"] }), {}, /column user\.nme: there is no such feature; .*user\.name/],
    ["a wrong type", () => ({ "user.id": [1, 2], "user.score": [1, "x"] }), {}, /row 2, column user\.score: expected float/],
    ["no key", () => ({ "user.name": ["x"] }), {}, /column user\.id: it is missing/],
    ["a null key", () => ({ "user.id": [1, null], "user.name": ["x", "y"] }), {}, /row 2, column user\.id: the row has no key/],
    ["a null", () => ({ "user.id": [1], "user.name": [null] }), {}, /row 1, column user\.name: .*not optional/],
    ["a column twice", () => ({ "user.id": [1], "user.name": ["x"], " user.name": ["y"] }), {}, /twice|no such feature/],
    [
      "no zone",
      () => ({ "user.id": [1], "user.name": ["x"], t: ["2024-01-01T00:00:00"] }),
      { timeColumn: "t" },
      /row 1, column t: .*no zone/,
    ],
    [
      "a time that there is not",
      () => ({ "user.id": [1], "user.name": ["x"], t: ["2024-02-30T00:00:00.000000Z"] }),
      { timeColumn: "t" },
      /row 1, column t: expected an ISO 8601 time/,
    ],
    ["no time", () => ({ "user.id": [1], "user.name": ["x"], t: [null] }), { timeColumn: "t" }, /row 1, column t: the row has no time/],
    ["a time ahead", () => ({ "user.id": [1], "user.name": ["x"], t: [future()] }), { timeColumn: "t" }, /row 1, column t: .*future/],
    ["two times", () => ({ "user.id": [1], "user.name": ["x"], __ts__: [future()] }), { time: msToTimestamp(0) }, /both a time/],
    ["an unknown time column", () => ({ "user.id": [1], "user.name": ["x"] }), { timeColumn: "at" }, /column at: there is no such column/],
    [
      "a feature that is not stored",
      () => ({ "user.id": [1], "user.secret": ["x"] }),
      {},
      /column user\.secret: user\.secret is not stored/,
    ],
    [
      "one that is not stored online",
      () => ({ "user.id": [1], "user.past": [1] }),
      { target: UploadTarget.ONLINE },
      /column user\.past: user\.past is not stored: the online store/,
    ],
    ["unequal columns", () => ({ "user.id": [1, 2], "user.name": ["x"] }), {}, /equally long/],
    ["no rows", () => ({ "user.id": [], "user.name": [] }), {}, /no rows/],
    ["only keys", () => ({ "user.id": [1] }), {}, /nothing to store/],
    ["no features", () => ({ t: ["x"] }), { timeColumn: "t" }, /no column is a feature/],
  ];
  test.each(REFUSED)("are refused whole: %s", async (_, columns, options, says) => {
    const before = stored(data());
    await expect(call(columns(), options)).rejects.toMatchObject({ code: Code.InvalidArgument, message: expect.stringMatching(says) });
    expect(stored(data())).toEqual(before);
  });

  test("of a CSV file are checked with rows and columns, and then stored", async () => {
    const bad = await upload("user.id,user.name,user.score\n1,a,1\n2,,2\nx,c,z\n", ValueFileFormat.CSV);
    expect(bad.state).toBe(ValueUploadState.FAILED);
    expect(bad.problems.map(({ row, column }) => [row, column])).toEqual([
      [3n, "user.id"],
      [2n, "user.name"],
      [3n, "user.score"],
    ]);
    expect(bad.rowsWritten).toBe(0n);
    const csv =
      'user.id,user.name,user.score,user.tags,__ts__\n40,"a ""b"", c",,"[""x"",""y""]",2024-05-01T12:00:00+02:00\n41,007,2.5,[],2024-05-01T12:00:00Z\n';
    const dry = await upload(csv, ValueFileFormat.CSV, { dryRun: true });
    expect(dry).toMatchObject({ state: ValueUploadState.SUCCEEDED, rows: 2n, rowsChecked: 2n, rowsWritten: 0n, offlineValues: 0n });
    const good = await upload(csv, ValueFileFormat.CSV);
    expect(good).toMatchObject({ state: ValueUploadState.SUCCEEDED, rows: 2n, rowsWritten: 2n, offlineValues: 6n, onlineValues: 0n });
    const kept = valuesOf("user.name").filter(({ at }) => at < Date.parse("2025-01-01"));
    expect(kept.map(({ key, value, at }) => [key, value, new Date(at).toISOString()])).toEqual([
      ["i:40", 'a "b", c', "2024-05-01T10:00:00.000Z"],
      ["i:41", "007", "2024-05-01T12:00:00.000Z"],
    ]);
    // Nobody needs the file any more.
    expect(await Array.fromAsync(new Bun.Glob("**/upl_*").scan({ cwd: data() }))).toEqual([]);
  }, 300_000);

  test("of JSON lines and of Parquet are stored alike", async () => {
    const time = "2024-06-01T00:00:00.123456Z";
    const lines = [50, 51].map((id) =>
      JSON.stringify({ "user.id": id, "user.name": `n${id}`, "user.tags": ["a"], "user.score": id / 8, t: time }),
    );
    const options = { timeColumn: "t", knownAtColumn: "t" };
    expect(await upload(lines.join("\n"), ValueFileFormat.JSON, options)).toMatchObject({
      state: ValueUploadState.SUCCEEDED,
      offlineValues: 6n,
    });
    const of = (first: number) =>
      stored(data())
        .offline.filter(({ key }) => ["i:50", "i:51", "i:60", "i:61"].includes(key))
        .slice(first);
    const before = of(0);
    expect(before.every(({ at, known }) => at === Date.parse(time) + 0.456 && known === at)).toBe(true);
    expect(before.map(({ value }) => value)).toContain(51 / 8);
  }, 300_000);

  test("of a file that is none of its format, or another one than was announced, are refused", async () => {
    const broken = await upload("PAR1 not really", ValueFileFormat.PARQUET);
    expect([broken.state, broken.error]).toEqual([ValueUploadState.FAILED, expect.stringContaining("the file")]);
    expect(broken.error).not.toContain(folder.path);
    await expect(service().uploadValueFile({ uploadId: "upl_1", format: ValueFileFormat.CSV })).rejects.toMatchObject({
      code: Code.NotFound,
    });
    await expect(service().getValueUpload({ id: "job_none" })).rejects.toMatchObject({ code: Code.NotFound });
    const uploadId = await put("user.id,user.name\n1,x\n");
    await expect(service().uploadValueFile({ uploadId })).rejects.toMatchObject({ code: Code.InvalidArgument });
    const { jobs } = await server.client(JobService).listJobs({ kinds: ["value-upload"] });
    expect(jobs.length).toBeGreaterThan(0);
  }, 300_000);
});

test("a server that is killed while it writes a Parquet file writes the rest when it is back, and each row once in effect", async () => {
  const ROWS = 60_000;
  using folder = new TempFolder();
  const data = join(folder.path, "data");
  const path = join(folder.path, "values.parquet");
  const log = createLog({ write: () => undefined, clock: new TestClock() });
  const engine = createTableEngine({ folder: join(folder.path, "tables"), libraryFolders: [join(folder.path, "library")], log });
  const writer = await engine.write(path, [
    { name: "user.id", dtype: INT },
    { name: "user.score", dtype: FLOAT },
    { name: "__ts__", dtype: TIME },
  ]);
  const start = Date.now() - ROWS * 1_000;
  const numbers = Array.from({ length: ROWS }, (_, row) => row);
  // Every key has many times, so that the newest one counts online.
  const times = numbers.map((row) => formatMicros(BigInt(start + row * 1_000) * 1_000n));
  await writer.append({ rows: ROWS, columns: [numbers.map((row) => row % 1_000), numbers.map((row) => row / 2), times] });
  await writer.finish();
  await engine.close();

  let credentials: SpawnedServer["credentials"] | undefined;
  {
    await using server = await TestServer.start(folder.path);
    await server.server.ready;
    ({ credentials } = server);
    expectLive(await deploy(server, PROJECT));
  }
  const written = (): { rows_written: number; state: string } => {
    using db = new Database(join(data, "meta.db"), { readonly: true });
    return (
      db.query<{ rows_written: number; state: string }, []>("select rows_written, state from value_upload").get() ?? {
        rows_written: -1,
        state: "",
      }
    );
  };
  {
    await using killed = await spawnServer(folder.path, credentials);
    const answer = await fetch(`${killed.url}/v1/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_id: credentials.clientId, client_secret: credentials.clientSecret, grant_type: "client_credentials" }),
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    const call = async (method: string, body: object) => {
      const response = await fetch(`${killed.url}/svc.v1.FeatureDataService/${method}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      });
      return (await response.json()) as { uploadId: string; url: string };
    };
    const bytes = await Bun.file(path).bytes();
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const { uploadId, url } = await call("AnnounceValueFile", { sha256, sizeBytes: String(bytes.length) });
    await fetch(new URL(url, killed.url), { method: "PUT", body: bytes });
    await call("UploadValueFile", { uploadId, format: "VALUE_FILE_FORMAT_PARQUET" });
    await eventually(() => written().rows_written > 0, "some rows are written");
    await killed.kill();
  }
  const before = written();
  expect([before.state, before.rows_written < ROWS]).toEqual(["running", true]);
  await using server = await TestServer.start(folder.path, { credentials });
  await server.server.ready;
  await eventually(() => written().state === "succeeded", "the rest is written");
  expect(written().rows_written).toBe(ROWS);
  const all = stored(data);
  const scores = all.offline.filter(({ name }) => name === "user.score");
  // The last value of each key and time, in the order of storing, is the file's.
  const last = new Map(scores.map(({ key, at, value }) => [`${key} ${at}`, value]));
  expect(last.size).toBe(ROWS);
  expect(numbers.every((row) => last.get(`i:${row % 1_000} ${start + row * 1_000}`) === row / 2)).toBe(true);
  const online = all.online.filter(({ name }) => name === "user.score");
  expect(online.map(({ key, value }) => Number(key.slice(2)) + ROWS - 1_000 === Number(value) * 2)).toEqual(new Array(1_000).fill(true));
}, 300_000);
