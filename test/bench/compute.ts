/**
 * Queries that compute: one Python resolver, ten in a diamond, an aggregation over children; alone
 * and from four clients; the engine's time apart.
 */

import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { Sandbox } from "../harness/sandbox.ts";
import { encodeBodies, firstLine, type Requests, sampleText, send, serve } from "./client.ts";
import { ACCOUNTS, computeProject } from "./compute-project.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES } from "./generate-project.ts";
import type { Latencies } from "./load.ts";

const KEYS = 500;
const CHILDREN = 1_000;
const CLIENTS = 4;

interface Subject extends Requests {
  readonly requests: number;
  /** Fields of an answer. */
  readonly fields: number;
}

/**
 * Queries for one row against a cached one of the same run; the aggregation also against a bare
 * server that sums the same rows.
 */
export async function measureComputing(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const shop = join(sandbox.root, "shop.db");
  writeShop(shop);
  const served = await serve(sandbox, { ...queryProject(), ...computeProject() }, { SHOP_SQLITE_PATH: shop });
  const bare = Bun.spawn([process.execPath, join(import.meta.dir, "bare-server.ts"), join(sandbox.root, "bare.db"), "1", shop], {
    stdout: "pipe",
  });
  try {
    const ask = (key: string, ids: number, outputs: readonly string[], requests: number): Subject => ({
      ...served.json(
        "/v1/query/online",
        Array.from({ length: ids }, (_, index) => ({ inputs: { [key]: index + 1 }, outputs })),
      ),
      requests,
      fields: outputs.length,
    });
    const sums = ask("account.id", ACCOUNTS, ["account.total"], 200);
    const subjects: Record<string, Subject> = {
      [CACHED]: ask(
        "profile.id",
        KEYS,
        STORED_FEATURES.map((name) => `profile.${name}`),
        3_000,
      ),
      "one resolver of arithmetic": ask("profile.id", KEYS, ["profile.live"], 2_000),
      "one Python resolver": ask("node.id", KEYS, ["node.top"], 2_000),
      "ten Python resolvers in a diamond": ask("node.id", KEYS, ["node.bottom"], 600),
      [AGGREGATED]: sums,
    };
    const bareSums: Subject = {
      ...sums,
      host: "127.0.0.1",
      port: Number(await firstLine(bare.stdout)),
      path: "/sum",
      bodies: encodeBodies(sums.bodies.map((body) => Buffer.from(body, "base64"))),
    };
    for (const [name, subject] of Object.entries({ ...subjects, [BARE]: bareSums })) check(name, subject, await send(warmUp(subject)));
    const totals = await Promise.all([sums, bareSums].map(async (subject) => totalOf(await send(warmUp(subject)))));
    if (totals[0] !== totals[1]) throw new Error(`the sums differ: ${totals.join(" and ")}`);

    const measured = await interleave<string, Latencies>(rounds, {
      ...Object.fromEntries(Object.entries(subjects).map(([name, subject]) => [name, () => send({ ...subject, concurrency: 1 })])),
      [BARE]: () => send({ ...bareSums, concurrency: 1 }),
      ...Object.fromEntries(
        Object.entries(subjects).map(([name, subject]) => [`${FOUR}${name}`, () => send({ ...subject, concurrency: CLIENTS })]),
      ),
    });
    return lines(Object.keys(subjects), (name, figure) => median((measured[name] ?? []).map((latencies) => latencies[figure])));
  } finally {
    bare.kill();
    await bare.exited;
  }
}

const CACHED = "a cached query, 20 features";
const AGGREGATED = `an aggregation over ${CHILDREN} children`;
const BARE = "bare: the same rows, summed";
const FOUR = "four clients: ";

function lines(names: readonly string[], of: (name: string, figure: "p50" | "p99" | "perSecond" | "engineP50") => number): Line[] {
  const against = (name: string, figure: "p50" | "p99"): Partial<Line> =>
    name === CACHED ? {} : { ratio: of(name, figure) / of(CACHED, figure), anchor: "of cached" };
  return [
    ...names.flatMap((name) => [
      { what: `${name}, p50`, value: milliseconds(of(name, "p50")), ...against(name, "p50") },
      { what: `${name}, p99`, value: milliseconds(of(name, "p99")), ...against(name, "p99") },
    ]),
    { what: `${BARE}, p50`, value: milliseconds(of(BARE, "p50")) },
    {
      what: `${AGGREGATED}, p50`,
      value: milliseconds(of(AGGREGATED, "p50")),
      ratio: of(AGGREGATED, "p50") / of(BARE, "p50"),
      anchor: "of bare",
    },
    ...names.map((name) => ({
      what: `${name}, in the engine, p50`,
      value: milliseconds(of(name, "engineP50")),
      ratio: of(name, "engineP50") / of(name, "p50"),
      anchor: "of the client's time",
    })),
    ...names.flatMap((name) => [
      {
        what: `${FOUR}${name}, p50`,
        value: milliseconds(of(`${FOUR}${name}`, "p50")),
        ratio: of(`${FOUR}${name}`, "p50") / of(name, "p50"),
        anchor: "of one client",
      },
      {
        what: `${FOUR}${name}, rate`,
        value: `${Math.round(of(`${FOUR}${name}`, "perSecond"))}/s`,
        ratio: of(`${FOUR}${name}`, "perSecond") / of(name, "perSecond"),
        anchor: "of one client",
      },
    ]),
  ];
}

function warmUp(subject: Subject): Subject & { concurrency: number } {
  return { ...subject, requests: Math.max(subject.requests, subject.bodies.length), concurrency: 1 };
}

function writeShop(path: string): void {
  using db = new Database(path, { create: true });
  db.run("create table txn (id integer primary key, account_id integer not null, amount real not null)");
  const insert = db.prepare("insert into txn values (?, ?, ?)");
  db.transaction(() => {
    for (let id = 0; id < ACCOUNTS * CHILDREN; id++) insert.run(id + 1, (id % ACCOUNTS) + 1, (id % 97) + 0.25);
  })();
  db.run("create index txn_account on txn (account_id)");
}

interface Answered {
  readonly data: readonly { readonly value: unknown }[];
  readonly errors?: readonly unknown[];
}

/** What is measured must be an answer: every value and no errors. */
function check(name: string, { fields }: Subject, latencies: Latencies): void {
  const answer = JSON.parse(sampleText(latencies)) as Answered;
  const valued = answer.data.filter(({ value }) => value !== null && value !== undefined);
  if (valued.length !== fields || answer.errors?.length) throw new Error(`${name} gave no answer: ${sampleText(latencies)}`);
}

function totalOf(latencies: Latencies): unknown {
  return (JSON.parse(sampleText(latencies)) as Answered).data[0]?.value;
}
