/**
 * Samples of random histories: by files, where keys are given, and in chunks, where they are
 * sampled themselves. Both are what a plain loop gives.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { Client } from "@connectrpc/connect";
import fc from "fast-check";
import { OfflineQueryService, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { msToTimestamp } from "../../../src/domain/proto-time.ts";
import { formatMicros } from "../../../src/domain/timestamp.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { patience, seed, seeded } from "../../harness/seed.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { answerOf, column, finish, historyProject, knownAt, putHistory, type Row, type Seen, START } from "./worlds.ts";

const MINUTE = 60_000;
const users = fc.integer({ min: 1, max: 6 });
const accounts = fc.constantFrom("a", "ä'\"", "");
/** Few moments, so that many are equal. */
const moments = fc.integer({ min: 0, max: 40 }).map((at) => START + at * 10 * MINUTE);
const delays = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 12 }).map((at) => at * 10 * MINUTE),
);
const seen = fc
  .oneof(
    fc.record({ feature: fc.constant("user.score"), key: users, value: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
    fc.record({ feature: fc.constant("user.age"), key: users, value: fc.option(fc.integer()) }),
    fc.record({ feature: fc.constant("user.account_id"), key: users, value: fc.option(accounts) }),
    fc.record({ feature: fc.constant("account.balance"), key: accounts, value: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
  )
  .chain((one) => fc.record({ at: moments, delay: delays }).map(({ at, delay }): Seen => ({ ...one, at, knownAt: at + delay })));
const SEEN = fc.sample(fc.array(seen, { minLength: 150, maxLength: 150 }), { seed, numRuns: 1 })[0] as readonly Seen[];

const OUTPUTS = ["user.score", "user.age", "user.account.balance"];
const queries = fc.record({
  rows: fc.array(fc.record({ user: users, account: fc.option(accounts), at: moments }), { minLength: 1, maxLength: 60 }),
  outputs: fc.subarray(OUTPUTS, { minLength: 1 }),
  required: fc.subarray(OUTPUTS),
  /** Whether the rows are given their accounts. */
  isGiven: fc.boolean(),
  asKnown: fc.boolean(),
  includeObservedAt: fc.boolean(),
  sampleFraction: fc.constantFrom(0, 0.6),
  testFraction: fc.constantFrom(0, 0.3),
  byTime: fc.boolean(),
  numShards: fc.integer({ min: 1, max: 3 }),
});
type Wanted = typeof queries extends fc.Arbitrary<infer T> ? T : never;

let folder: TempFolder;
let server: TestServer;
let service: Client<typeof OfflineQueryService>;

beforeAll(async () => {
  folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  expectLive(await deploy(first, historyProject(folder.path, [])));
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

const textOf = (ms: number) => formatMicros(BigInt(ms) * 1000n);
/** A number from 0 to 1: the first 53 bits of a digest. */
const unitOf = (text: string) =>
  Number(BigInt(`0x${createHash("sha256").update(text).digest("hex").slice(0, 16)}`) >> 11n) / Number(2n ** 53n);

/** The answer by a plain loop. */
function expected({ rows, ...wanted }: Wanted): { readonly rows: readonly Row[]; readonly late: number } {
  const { outputs, asKnown, testFraction } = wanted;
  let late = 0;
  const sampleOf = (feature: string, key: FeatureValue, at: number): Seen | undefined => {
    const [found, other] = [asKnown, !asKnown].map((known) => knownAt(SEEN, feature, key, at, known));
    if (found !== other) late++;
    return found;
  };
  const kept = rows.filter(
    ({ user, at }) => wanted.sampleFraction === 0 || unitOf(`sample\0${at * 1000}\0i:${user}`) < wanted.sampleFraction,
  );
  const times = kept.map(({ at }) => at).sort((one, other) => one - other);
  const splitAt = times[Math.min(times.length - 1, Math.ceil(times.length * (1 - testFraction)))] as number;
  const answer = kept.flatMap(({ user, account, at }): Row[] => {
    const needsAccount = !wanted.isGiven && outputs.includes("user.account.balance");
    const key = needsAccount ? (sampleOf("user.account_id", user, at)?.value ?? null) : account;
    const found = new Map(
      outputs.map((name) => {
        if (name !== "user.account.balance") return [name, sampleOf(name, user, at)];
        return [name, key === null ? undefined : sampleOf("account.balance", key, at)];
      }),
    );
    if (wanted.required.some((name) => outputs.includes(name) && !found.get(name))) return [];
    const newest = Math.max(...[...found.values()].map((one) => one?.at ?? Number.NEGATIVE_INFINITY));
    const isTest = wanted.byTime ? at >= splitAt : unitOf(`split\0i:${user}`) < testFraction;
    return [
      {
        "user.id": user,
        ...(wanted.isGiven && { "user.account_id": account }),
        ...Object.fromEntries(
          [...found].flatMap(([name, one]) => [
            [name, one?.value ?? null],
            ...(wanted.includeObservedAt ? [[`${name}.__observed_at__`, one ? textOf(one.at) : null]] : []),
          ]),
        ),
        ...{ __ts__: textOf(at), __observed_at__: newest === Number.NEGATIVE_INFINITY ? null : textOf(newest) },
        ...(testFraction > 0 && { __split__: isTest ? "test" : "train" }),
      },
    ];
  });
  return { rows: answer, late };
}

test(
  "an answer is that of a plain loop, whatever way the samples are made",
  async () => {
    await fc.assert(
      fc.asyncProperty(queries, async (wanted) => {
        const { rows, outputs, required, isGiven, byTime, ...request } = wanted;
        const inputs = [
          column(
            "user.id",
            rows.map(({ user }) => user),
          ),
          column(
            "user.account_id",
            rows.map(({ account }) => account),
          ),
        ];
        const query = await finish(service, {
          ...request,
          ...{ outputs, requiredOutputs: required.filter((name) => outputs.includes(name)), splitBy: byTime ? 2 : 1 },
          ...{ inputs: isGiven ? inputs : inputs.slice(0, 1), times: rows.map(({ at }) => msToTimestamp(at)) },
        });
        expect([query.status, query.error]).toEqual([OfflineQueryStatus.COMPLETED, ""]);
        const { rows: answer, late } = expected(wanted);
        expect((await answerOf(server, service, query.id, folder.path)).rows).toEqual(answer);
        expect([query.lateValues, query.rows]).toEqual([BigInt(late), BigInt(answer.length)]);
      }),
      seeded(12, 500),
    );
  },
  patience(300_000),
);
