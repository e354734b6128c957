/** Offline queries on a real server: rows are what a plain loop over the history gives. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { OfflineQueryFormat, OfflineQueryService, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import { msToTimestamp } from "../../../src/domain/proto-time.ts";
import { formatMicros } from "../../../src/domain/timestamp.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { answerOf, column, endOf, finish, HOUR, historyProject, knownAt, putHistory, type Seen, START, type Txn } from "./worlds.ts";

const USERS = 8;
const TXNS: readonly Txn[] = Array.from({ length: 60 }, (_, at) => ({
  ...{ id: at + 1, user: 1 + (at % USERS), amount: at * 1.5, at: START + at * 37 * 60_000 },
}));

function observed(): Seen[] {
  const seen: Seen[] = [];
  for (let user = 1; user <= USERS; user++)
    for (let hour = user; hour < 30; hour += user) {
      const at = START + hour * HOUR;
      seen.push({ feature: "user.score", key: user, at, value: user * 10 + hour, knownAt: at + (hour % 3 === 0 ? 4 * HOUR : 0) });
      if (hour % 2 === 0) seen.push({ feature: "user.age", key: user, at, value: hour % 4 === 0 ? null : hour });
      seen.push({ feature: "user.account_id", key: user, at, value: hour > 20 ? null : `a${hour % 3}` });
    }
  for (let hour = 0; hour < 30; hour += 5)
    for (const key of ["a0", "a1", "a2"])
      seen.push({ feature: "account.balance", key, at: START + hour * HOUR, value: hour + key.length / 10 });
  // Equally new ones: the one that was stored last counts.
  seen.push({ feature: "user.score", key: 1, at: START + 5 * HOUR, value: 555 });
  return seen;
}

const SEEN = observed();
let folder: TempFolder;
let server: TestServer;
let service: Client<typeof OfflineQueryService>;

beforeAll(async () => {
  folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  expectLive(await deploy(first, historyProject(folder.path, TXNS)));
  const { credentials, clock } = first;
  await first[Symbol.asyncDispose]();
  await putHistory(folder.path, SEEN);
  server = await TestServer.start(folder.path, { credentials, clock });
  service = server.client(OfflineQueryService);
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const SPINE = Array.from({ length: 40 }, (_, at) => ({ user: 1 + ((at * 3) % (USERS + 1)), at: START + at * 45 * 60_000 }));
const spine = (rows = SPINE) => ({
  inputs: [
    column(
      "user.id",
      rows.map(({ user }) => user),
    ),
  ],
  times: rows.map(({ at }) => msToTimestamp(at)),
});
const textOf = (ms: number) => formatMicros(BigInt(ms) * 1000n);
const run = async (request: Parameters<typeof service.startOfflineQuery>[0]) => {
  const query = await finish(service, request);
  if (query.status !== OfflineQueryStatus.COMPLETED) throw new Error(query.error);
  return { query, ...(await answerOf(server, service, query.id, folder.path)) };
};
const refusal = async (request: Parameters<typeof service.startOfflineQuery>[0]) => {
  const error = await service.startOfflineQuery(request).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConnectError)) throw new Error("the call was not refused");
  return `${Code[error.code]}: ${error.rawMessage}`;
};

describe("samples", () => {
  test("are the newest values at each row's time, in the order of the rows", async () => {
    const { columns, rows, query } = await run({ ...spine(), outputs: ["user.score", "user.age"] });
    expect(columns).toEqual(["user.id", "user.score", "user.age", "__ts__", "__observed_at__"]);
    const wanted = SPINE.map(({ user, at }) => {
      const [score, age] = ["user.score", "user.age"].map((feature) => knownAt(SEEN, feature, user, at));
      const newest = [score, age].flatMap((one) => one?.at ?? []);
      return {
        ...{ "user.id": user, "user.score": score?.value ?? null, "user.age": age?.value ?? null, __ts__: textOf(at) },
        __observed_at__: newest.length === 0 ? null : textOf(Math.max(...newest)),
      };
    });
    expect(rows).toEqual(wanted);
    expect(query).toMatchObject({ totalRows: 40n, doneRows: 40n, rows: 40n, failedRows: 0n, error: "" });
    const late = SPINE.filter(({ user, at }) => knownAt(SEEN, "user.score", user, at) !== knownAt(SEEN, "user.score", user, at, true));
    expect(query.lateValues).toBe(BigInt(late.length));
    expect(late.length).toBeGreaterThan(0);
  });

  test("as known count what was known by then", async () => {
    const { rows } = await run({ ...spine(), outputs: ["user.score"], asKnown: true });
    expect(rows.map((row) => row["user.score"])).toEqual(
      SPINE.map(({ user, at }) => knownAt(SEEN, "user.score", user, at, true)?.value ?? null),
    );
  });

  test("of other rows and expressions come of the samples that they need", async () => {
    const outputs = ["user.twice", "user.account.balance", "user.rich", "user.account.id"];
    const { rows } = await run({ ...spine(), outputs });
    expect(rows.map((row) => outputs.map((name) => row[name]))).toEqual(
      SPINE.map(({ user, at }) => {
        const score = knownAt(SEEN, "user.score", user, at)?.value as number | undefined;
        const account = (knownAt(SEEN, "user.account_id", user, at)?.value ?? null) as string | null;
        const balance = account === null ? undefined : (knownAt(SEEN, "account.balance", account, at)?.value as number | undefined);
        const rich = score !== undefined && balance !== undefined ? balance + score : null;
        return [score === undefined ? null : score * 2, balance ?? null, rich, account];
      }),
    );
  });
});

test("an offline_expression computes a feature of samples, and what takes it, where online queries compute it otherwise", async () => {
  const outputs = ["user.worth", "user.more", "user.guess"];
  const wanted = SPINE.map(({ user, at }) => {
    const score = knownAt(SEEN, "user.score", user, at)?.value as number | undefined;
    return score === undefined ? [null, null, null] : [score * 3 + 1, score * 3 + 1.5, score - 1];
  });
  for (const more of [{}, { recomputeFeatures: ["user.more"] }]) {
    const { rows } = await run({ ...spine(), outputs, ...more });
    expect(rows.map((row) => outputs.map((name) => row[name]))).toEqual(wanted);
  }
  const online = await fetch(`${server.url}/v1/query/bulk`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
    body: JSON.stringify({ inputs: { "user.id": [1], "user.score": [10] }, outputs }),
  });
  const { data } = (await online.json()) as { data: Record<string, unknown[]> };
  expect(outputs.map((name) => data[name])).toEqual([[20], [20.5], [7]]);
});

describe("recomputed", () => {
  test("values are those of online queries with the rows' times", async () => {
    const outputs = ["user.spent", "user.recent[2h]", "user.recent[1d]", "user.level"];
    const online = await fetch(`${server.url}/v1/query/bulk`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
      body: JSON.stringify({
        inputs: { "user.id": SPINE.map(({ user }) => user), "user.score": SPINE.map((_, at) => at) },
        outputs,
        now: SPINE.map(({ at }) => new Date(at).toISOString()),
        planner_options: { disable_cache_reads: true },
      }),
    });
    const { data } = (await online.json()) as { data: Record<string, unknown[]> };
    const { rows, columns } = await run({
      ...spine(),
      inputs: [
        ...spine().inputs,
        column(
          "user.score",
          SPINE.map((_, at) => at),
        ),
      ],
      outputs,
      recompute: true,
    });
    expect(columns.slice(2, 6)).toEqual(["user.spent", "user.recent__7200__", "user.recent__86400__", "user.level"]);
    for (const name of Object.keys(data)) expect([name, rows.map((row) => row[name] as unknown)]).toEqual([name, data[name] ?? []]);
    const spent = SPINE.map(({ user, at }) =>
      TXNS.filter((txn) => txn.user === user && txn.at <= at).reduce((sum, txn) => sum + txn.amount, 0),
    );
    expect(rows.map((row) => row["user.spent"])).toEqual(spent);
    expect(new Set(spent).size).toBeGreaterThan(10);
  });

  test("features are computed from samples of what they take", async () => {
    const { rows } = await run({ ...spine(), outputs: ["user.level", "user.score"], recomputeFeatures: ["user.level"] });
    expect(rows.map((row) => row["user.level"])).toEqual(
      SPINE.map(({ user, at }) => {
        const score = knownAt(SEEN, "user.score", user, at)?.value as number | undefined;
        return score === undefined ? null : Math.trunc(score) * 100 + new Date(at).getUTCHours();
      }),
    );
  });

  test("features are computed by the resolver whose condition is true of the row's samples", async () => {
    const { rows } = await run({ ...spine(), outputs: ["user.band"], recomputeFeatures: ["user.band"] });
    const bands = SPINE.map(({ user, at }) => {
      const [score, age, account] = ["user.score", "user.age", "user.account_id"].map(
        (name) => knownAt(SEEN, name, user, at)?.value ?? null,
      );
      // Nothing is known of a condition over what was never observed; a null key has no row.
      if (score == null) return null;
      const balance = account == null ? 0 : (knownAt(SEEN, "account.balance", account, at)?.value as number);
      return balance > 5 ? "rich" : age == null ? "other" : `age ${age}`;
    });
    expect(rows.map((row) => row["user.band"])).toEqual(bands);
    expect(new Set(bands.map((band) => band?.split(" ")[0]))).toEqual(new Set(["rich", "age", "other", undefined]));
  });

  test("rows that fail are null, counted and told in a file", async () => {
    const { query, rows } = await run({ ...spine(), outputs: ["user.odd"], recompute: true, numShards: 3 });
    expect(rows.map((row) => row["user.odd"])).toEqual(SPINE.map(({ user }) => (user % 2 === 1 ? user : null)));
    const even = SPINE.flatMap(({ user }, row) => (user % 2 === 0 ? [row] : []));
    expect(query).toMatchObject({ failedRows: BigInt(even.length), rows: 40n });
    expect(query.error).toContain("even");
    const errors = await answerOf(server, service, query.id, folder.path, "errors");
    expect(errors.rows.map(({ row }) => row)).toEqual(even);
    expect(errors.rows[0]).toMatchObject({ feature: "user.odd", code: "RESOLVER_FAILED", resolver: "features.get_odd" });
  });
});

describe("rows", () => {
  test("without a required output are left out", async () => {
    const { rows, query } = await run({ ...spine(), outputs: ["user.score", "user.age"], requiredOutputs: ["user.age"] });
    const wanted = SPINE.filter(({ user, at }) => knownAt(SEEN, "user.age", user, at));
    expect(rows.map((row) => [row["user.id"], row.__ts__])).toEqual(wanted.map(({ user, at }) => [user, textOf(at)]));
    expect(query).toMatchObject({ totalRows: 40n, rows: BigInt(wanted.length) });
  });

  test("that are not given are those that were observed within the bounds", async () => {
    const bounds = { lowerBound: msToTimestamp(START + 20 * HOUR), upperBound: msToTimestamp(START + 22 * HOUR) };
    const { rows } = await run({ keys: { ...bounds, maxSamples: 0n }, outputs: ["user.score"] });
    const wanted = new Set(
      SEEN.filter((one) => typeof one.key === "number" && one.at >= START + 20 * HOUR && one.at < START + 22 * HOUR).map(({ key }) => key),
    );
    expect(rows.map((row) => row["user.id"])).toEqual([...wanted].sort());
    const some = await Promise.all([1, 2].map(() => run({ keys: { maxSamples: 3n }, outputs: ["user.score"] })));
    expect(some[0]?.rows.map((row) => row["user.id"])).toEqual(some[1]?.rows.map((row) => row["user.id"]) ?? []);
    expect(some[0]?.rows.length).toBe(3);
  });

  test("of several classes stand in one spine", async () => {
    const { rows, columns } = await run({
      inputs: [column("user.id", [1, 2]), column("account.id", ["a1"])],
      times: [msToTimestamp(START + 12 * HOUR)],
      outputs: ["account.balance", "user.score", "account.id"],
    });
    expect(columns).toEqual(["user.id", "account.balance", "user.score", "account.id", "__ts__", "__observed_at__"]);
    const at = START + 12 * HOUR;
    expect(rows).toMatchObject(
      [1, 2].map((user) => ({
        ...{ "user.id": user, "account.balance": knownAt(SEEN, "account.balance", "a1", at)?.value as number, "account.id": "a1" },
        "user.score": knownAt(SEEN, "user.score", user, at)?.value as number,
      })),
    );
  });

  test("come of SQL over the history and of datasets", async () => {
    const spineSql = `select key as "user.id", observed_at + interval 1 hour as ts from historical.user.score where value > 25 order by 2, 1`;
    const { rows } = await run({ spineSql, outputs: ["user.score"], datasetName: "wanted" });
    const wanted = SEEN.filter((one) => one.feature === "user.score" && (one.value as number) > 25)
      .map(({ key, at }) => ({ key: key as number, at: at + HOUR }))
      .sort((a, b) => a.at - b.at || a.key - b.key);
    expect(rows.map((row) => [row["user.id"], row.__ts__, row["user.score"]])).toEqual(
      wanted.map(({ key, at }) => [key, textOf(at), knownAt(SEEN, "user.score", key, at)?.value ?? null]),
    );
    const again = await run({ spineSql: `select "user.id", __ts__ from datasets.wanted`, timeColumn: "__ts__", outputs: ["user.score"] });
    expect(again.rows.map((row) => row["user.score"])).toEqual(rows.map((row) => row["user.score"] ?? null));
  });

  test("are divided the same way every time, and shards change nothing", async () => {
    const request = { ...spine(), outputs: ["user.score"], testFraction: 0.3, sampleFraction: 0.7 };
    const [one, other] = [await run(request), await run({ ...request, numShards: 5 })];
    expect(other.rows).toEqual(one.rows);
    expect(one.rows.length).toBeGreaterThan(15);
    expect(one.rows.length).toBeLessThan(40);
    const parts = Map.groupBy(one.rows, (row) => row["user.id"]);
    for (const rows of parts.values()) expect(new Set(rows.map((row) => row.__split__)).size).toBe(1);
    const byTime = await run({ ...spine(), outputs: ["user.score"], testFraction: 0.25, splitBy: 2 });
    expect(byTime.rows.filter((row) => row.__split__ === "test").map((row) => row.__ts__)).toEqual(
      SPINE.slice(30).map(({ at }) => textOf(at)),
    );
  });
});

describe("refused before anything runs", () => {
  const outputs = ["user.score"];
  test.each([
    [{ inputs: [column("user.idd", [1])], outputs }, /unknown feature 'user.idd'.*did you mean 'user.id'/],
    [{ inputs: [column("user.id", [1, "x"])], outputs }, /[Rr]ow 2, user.id: expected int, got str "x"/],
    [{ inputs: [column("user.id", [1, null])], outputs }, /[Rr]ow 2, user.id: expected int, got null/],
    [{ inputs: [column("user.id", [1])], outputs: ["user.scor"] }, /unknown feature 'user.scor'.*'user.score'/],
    [{ inputs: [column("user.id", [1])], outputs: ["user.secret"] }, /'user.secret'.*store_offline=False.*--recompute=user.secret/],
    [{ inputs: [column("user.id", [1])], outputs: ["user.txns"] }, /'user.txns'.*--recompute/],
    [{ inputs: [column("user.id", [1, 2])], outputs, times: [1, 2, 3].map(msToTimestamp) }, /Columns have one length/],
    [{ inputs: [column("user.age", [1])], outputs }, /the rows have no user.id/],
    [{ keys: { lowerBound: msToTimestamp(2), upperBound: msToTimestamp(2) }, outputs }, /bounds are empty/],
    [{ keys: {}, outputs: ["user.score", "account.balance"] }, /of 2 classes/],
    [{ inputs: [column("user.id", [1])], outputs, storeOnline: true }, /Nothing is computed/],
    [{ inputs: [column("user.id", [1])], outputs, requiredOutputs: ["user.age"] }, /'user.age' is no output/],
    [{ inputs: [column("user.id", [1])], outputs, datasetName: "rev_1" }, /name of a dataset/],
    [{ spineSql: "select 1 as x", outputs }, /unknown feature 'x'/],
    [{ spineSql: "selec 1", outputs }, /syntax error/i],
    [
      { spineSql: "select key from historical.user.scor", outputs },
      /There is no table historical.user.scor in this environment \(line 1\)/,
    ],
    [{ spineSql: "select * from datasets.none", outputs }, /There is no table datasets.none/],
    [{ spineSql: 'select 1 as "user.id"', timeColumn: "at", outputs }, /no column 'at' of times/],
    [{ inputs: [column("user.id", [1])], outputs, numShards: 65 }, /1 to 64 shards/],
  ] as const)("%#", async (request, says) => {
    expect(await refusal(request as Parameters<typeof refusal>[0])).toMatch(says);
  });

  test("nothing was stored of them", async () => {
    const { queries } = await service.listOfflineQueries({});
    expect(queries.filter(({ status }) => status !== OfflineQueryStatus.COMPLETED)).toEqual([]);
  });
});

describe("a file with rows", () => {
  const upload = async (text: string | Uint8Array, format: OfflineQueryFormat) => {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const { uploadId, url } = await service.createOfflineQueryUpload({ sha256, sizeBytes: BigInt(bytes.length) });
    const put = await fetch(`${server.url}${url}`, { method: "PUT", body: bytes.slice() });
    expect(put.status).toBe(201);
    return { uploadId, format };
  };
  const outputs = ["user.score"];
  const lines = SPINE.map(({ user, at }) => ({ "user.id": user, ts: new Date(at).toISOString() }));

  test("gives the same answer in every format", async () => {
    const wanted = (await run({ ...spine(), outputs })).rows;
    const csv = ["user.id,ts", ...lines.map((line) => Object.values(line).join(","))].join("\n");
    expect((await run({ file: await upload(csv, OfflineQueryFormat.CSV), outputs })).rows).toEqual(wanted);
    const json = lines.map((line) => JSON.stringify(line)).join("\n");
    expect((await run({ file: await upload(json, OfflineQueryFormat.JSON), outputs })).rows).toEqual(wanted);
    const { id } = await finish(service, { ...spine(), outputs });
    const { files } = await service.listOfflineQueryFiles({ id });
    const givens = await (await fetch(`${server.url}${files.find(({ kind }) => kind === "givens")?.url}`)).bytes();
    const file = await upload(givens, OfflineQueryFormat.PARQUET);
    expect((await run({ file, timeColumn: "__ts__", outputs })).rows).toEqual(wanted);
    const cut = await upload(givens.slice(0, givens.length - 50), OfflineQueryFormat.PARQUET);
    expect(await refusal({ file: cut, timeColumn: "__ts__", outputs })).toMatch(
      /^InvalidArgument: The file with the rows cannot be read: it is cut/,
    );
  });

  test.each([
    ["user.idd,ts\n1,2024-01-01T00:00:00Z", /unknown feature 'user.idd'/],
    ["user.id,ts\n1,2024-01-01T00:00:00Z\nx,2024-01-01T00:00:00Z", /Row 2, user.id: expected int, got str "x"/],
    ["user.id,ts\n1,2024-01-01T00:00:00", /Row 1, column ts: the time "2024-01-01T00:00:00" has no zone/],
    ["user.id,ts\n1,soon", /Row 1, column ts: expected a time/],
    ["ts\n2024-01-01T00:00:00Z", /no columns of features/],
  ])("%#: what is wrong with it is refused before anything runs", async (text, says) => {
    expect(await refusal({ file: await upload(text, OfflineQueryFormat.CSV), outputs })).toMatch(says);
  });

  test("that was not uploaded whole, or is another, is refused", async () => {
    const { uploadId } = await service.createOfflineQueryUpload({ sha256: "0".repeat(64), sizeBytes: 5n });
    expect(await refusal({ file: { uploadId, format: OfflineQueryFormat.CSV }, outputs })).toMatch(/not uploaded whole/);
    const { uploadId: other, url } = await service.createOfflineQueryUpload({ sha256: "0".repeat(64), sizeBytes: 5n });
    await fetch(`${server.url}${url}`, { method: "PUT", body: "hello" });
    expect(await refusal({ file: { uploadId: other, format: OfflineQueryFormat.CSV }, outputs })).toMatch(/not the one that was announced/);
    expect(await refusal({ file: { uploadId: "upl_1", format: OfflineQueryFormat.CSV }, outputs })).toMatch(/no such upload/);
  });
});

describe("queries", () => {
  test("are begun again as they were asked for, and ended ones are not cancelled", async () => {
    const first = await run({ ...spine(), outputs: ["user.score"], datasetName: "again" });
    const { query } = await service.retryOfflineQuery({ id: first.query.id });
    expect(query).toMatchObject({ retryOf: first.query.id, datasetName: "again" });
    const second = await endOf(service, query?.id ?? "");
    expect((await answerOf(server, service, second.id, folder.path)).rows).toEqual(first.rows);
    expect(second.datasetId).toBe(first.query.datasetId);
    const error = await service.cancelOfflineQuery({ id: second.id }).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("has ended: it is completed");
    const listed = await service.listOfflineQueries({ id: second.id.slice(-8), status: OfflineQueryStatus.COMPLETED });
    expect(listed.queries.map(({ id }) => id)).toContain(second.id);
  });

  test("are begun again with other options over the same rows, which they tell; what does not go is refused", async () => {
    const given = await run({ ...spine(), outputs: ["user.score"], datasetName: "changed" });
    const { options } = (await service.getOfflineQuery({ id: given.query.id })).query ?? {};
    expect(options).toMatchObject({ outputs: ["user.score"], datasetName: "changed", numShards: 1, recompute: false });
    expect(options?.keys).toBeUndefined();
    const { $typeName: _, ...same } = options as NonNullable<typeof options>;
    const again = async (id: string, changes: object) => {
      const { query } = await service.retryOfflineQuery({ id, options: { ...same, ...changes } });
      return { retryOf: query?.retryOf, query: await endOf(service, query?.id ?? "") };
    };
    const more = await again(given.query.id, { outputs: ["user.level", "user.score"], numShards: 2, datasetName: "" });
    expect(more).toMatchObject({ retryOf: given.query.id, query: { numShards: 2, datasetName: "" } });
    const [wanted, got] = [given.rows, (await answerOf(server, service, more.query.id, folder.path)).rows];
    expect(got.map((row) => row["user.score"])).toEqual(wanted.map((row) => row["user.score"]));
    expect(got.every((row) => "user.level" in row)).toBe(true);

    const known = await run({ keys: { maxSamples: 1n }, outputs: ["user.score"] });
    const two = await again(known.query.id, { keys: { maxSamples: 2n }, datasetName: "" });
    expect([known.query.totalRows, two.query.totalRows]).toEqual([1n, 2n]);

    for (const [changes, says] of [
      [{ outputs: ["user.nothing"] }, "nothing"],
      [{ keys: { maxSamples: 2n } }, "were given, so no keys are chosen"],
      [{ recompute: true, recomputeFeatures: ["user.level"] }, "give one of them"],
      [{ numShards: 65 }, "1 to 64 shards"],
    ] as const)
      await expect(again(given.query.id, changes)).rejects.toThrow(says);
  });

  test("store what they compute with the rows' times, when they are to", async () => {
    const at = START + 50 * HOUR;
    const rows = { inputs: [column("user.id", [5]), column("user.score", [2])], times: [msToTimestamp(at)] };
    await run({ ...rows, outputs: ["user.level"], recompute: true, storeOffline: true });
    const later = await run({
      inputs: [column("user.id", [5, 5])],
      times: [at - 1, at].map(msToTimestamp),
      outputs: ["user.level"],
      includeObservedAt: true,
    });
    expect(later.rows.map((row) => [row["user.level"], row["user.level.__observed_at__"]])).toEqual([
      [null, null],
      [200 + new Date(at).getUTCHours(), textOf(at)],
    ]);
  });
});

describe("plain HTTP", () => {
  const call = async (method: string, path: string, body?: object, token?: string) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token ?? (await server.token())}` };
    const response = await fetch(`${server.url}/v1/offline-queries${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, said: (await response.json()) as Record<string, unknown> };
  };
  const body = { inputs: { "user.id": [1, 2] }, input_times: [new Date(START + 9 * HOUR).toISOString()], outputs: ["user.score"] };

  test("begins a query, tells how far it is, and gives its files", async () => {
    const { status, said } = await call("POST", "", body);
    expect([status, said.status]).toEqual([200, "queued"]);
    const id = said.id as string;
    await endOf(service, id);
    expect((await call("GET", `/${id}/status`)).said).toEqual({
      ...{ id, status: "completed", total_rows: 2, done_rows: 2, rows: 2, failed_rows: 0, error: "" },
    });
    const shown = await call("GET", `/${id}`);
    expect(shown.said).toMatchObject({ outputs: ["user.score"], files: [{ kind: "givens" }, { kind: "output", rows: 2 }] });
    const table = await call("GET", `/${id}/table?format=csv`);
    const text = await (await fetch(`${server.url}${String(table.said.url)}`)).text();
    expect(text.split("\n")[0]).toBe("user.id,user.score,__ts__,__observed_at__");
  });

  test.each([
    [{ ...body, outptus: ["x"] }, /unknown field 'outptus'; did you mean 'outputs'/],
    [{ ...body, input_times: ["2024-01-01"] }, /input_times\[0\]: the time "2024-01-01" has no zone/],
    [{ ...body, inputs: { "user.id": 1 } }, /inputs\['user.id'\]: expected a list/],
    [{ ...body, num_shards: 1.5 }, /num_shards: expected a whole number/],
    [{ outputs: body.outputs, file: { upload_id: "upl_1", format: "xlsx" } }, /file.format: expected parquet, csv or json, got str "xlsx"/],
  ])("%#: what is wrong is named", async (wrong, says) => {
    const { status, said } = await call("POST", "", wrong);
    expect([status, String(said.message)]).toEqual([400, expect.stringMatching(says)]);
  });

  test("what stores values needs the permission for it", async () => {
    const tokens = server.client(ServiceTokenService);
    const { clientSecret, serviceToken } = await tokens.createServiceToken({ name: "reader", permissions: ["query.offline"] });
    const answer = await server.exchange(serviceToken?.clientId ?? "", clientSecret);
    const { access_token: token } = (await answer.json()) as { access_token: string };
    const stores = { ...body, outputs: ["user.odd"], recompute: true, store_online: true };
    expect((await call("POST", "", stores, token)).said.message).toContain("needs the permission `data.write`");
    expect((await call("POST", "", { ...stores, store_online: false }, token)).status).toBe(200);
  });
});
