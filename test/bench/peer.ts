/**
 * The peer: Feast's own feature server, which serves the same stored values from its SQLite online
 * store.
 */

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../harness/free-port.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { anyPython } from "../server/python/project.ts";
import { answers } from "./boot.ts";
import { encodeBodies, type Requests, sampleText, send, serve } from "./client.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES, typeOf, wideFeatures, wideModule } from "./generate-project.ts";
import type { Latencies } from "./load.ts";

export const FEAST = "feast==0.67.0";
export const VENV = join(import.meta.dir, "../../dist/feast-venv");
const KEYS = 200;
const WIDTH = 250;
const VIEW_WIDTH = 10;
const CONCURRENCIES = [1, 16] as const;
const REQUESTS = { 1: 400, 16: 800 } as const;
const START_MS = 60_000;

/** A feature view of the peer: its columns carry the values that `svc` answered. */
interface View {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly values: readonly unknown[] }[];
}

/**
 * `svc` against Feast, 20 features and 250, one client and sixteen. Without Feast there is one line
 * that says why.
 */
export async function measurePeer(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const missing = await installFeast();
  if (missing !== undefined) return [{ what: `skipped: ${FEAST} could not be installed`, value: missing }];

  const served = await serve(sandbox, { ...queryProject(), ...wideModule(WIDTH) });
  const ids = Array.from({ length: KEYS }, (_, index) => index + 1);
  const ours = (owner: string, names: readonly string[]): Requests =>
    served.json(
      "/v1/query/online",
      ids.map((id) => ({ inputs: { [`${owner}.id`]: id }, outputs: names.map((name) => `${owner}.${name}`) })),
    );
  const stored = async (owner: string, names: readonly string[]): Promise<View["columns"]> => {
    const query = served.json("/v1/query/bulk", [{ inputs: { [`${owner}.id`]: ids }, outputs: names.map((name) => `${owner}.${name}`) }]);
    const { data } = JSON.parse(sampleText(await send({ ...query, requests: 1, concurrency: 1 }))) as { data: Record<string, unknown[]> };
    if (!(await allFromStore(query.host, query.port, query.headers, owner, names)))
      throw new Error(`${owner} is not served from the store`);
    return names.map((name, index) => ({ name, type: typeOf(index), values: data[`${owner}.${name}`] ?? [] }));
  };
  const wide = await stored("wide", wideFeatures(WIDTH));
  const twenty: View[] = [{ name: "twenty", columns: await stored("profile", STORED_FEATURES) }];
  const tens = Array.from({ length: WIDTH / VIEW_WIDTH }, (_, at) => ({
    name: `tens_${at}`,
    columns: wide.slice(at * VIEW_WIDTH, (at + 1) * VIEW_WIDTH),
  }));
  const one: View[] = [{ name: "whole", columns: wide }];

  await using feast = await startFeast(sandbox, [...twenty, ...tens, ...one]);
  const theirs = (views: readonly View[]): Requests => ({
    host: "127.0.0.1",
    port: feast.port,
    path: "/get-online-features",
    headers: { "content-type": "application/json" },
    bodies: encodeBodies(
      ids.map((id) =>
        JSON.stringify({
          features: views.flatMap(({ name, columns }) => columns.map((one) => `${name}:${one.name}`)),
          entities: { id: [id] },
        }),
      ),
    ),
  });
  const groups: readonly { what: string; svc: Requests; feast: Requests }[] = [
    { what: "20 features", svc: ours("profile", STORED_FEATURES), feast: theirs(twenty) },
    { what: `250 features, ${tens.length} views`, svc: ours("wide", wideFeatures(WIDTH)), feast: theirs(tens) },
    { what: "250 features, 1 view", svc: ours("wide", wideFeatures(WIDTH)), feast: theirs(one) },
  ];
  for (const { what, svc, feast } of groups) {
    const [mine, other] = [
      await send({ ...svc, requests: KEYS, concurrency: 1 }),
      await send({ ...feast, requests: KEYS, concurrency: 1 }),
    ];
    sameValues(what, valuesOfSvc(mine), valuesOfFeast(other));
  }
  const measured = await interleave<string, Latencies>(
    rounds,
    Object.fromEntries(
      CONCURRENCIES.flatMap((concurrency) =>
        groups.flatMap(({ what, svc, feast }) => [
          [`c=${concurrency} ${what}, Feast`, () => send({ ...feast, requests: REQUESTS[concurrency], concurrency })],
          [`c=${concurrency} ${what}, svc`, () => send({ ...svc, requests: REQUESTS[concurrency] * 5, concurrency })],
        ]),
      ),
    ),
  );
  return CONCURRENCIES.flatMap((concurrency) => groups.flatMap(({ what }) => lines(measured, `c=${concurrency} ${what}`)));
}

function lines(measured: Record<string, Latencies[]>, group: string): Line[] {
  const of = (name: string, figure: "p50" | "p99" | "perSecond"): number =>
    median((measured[`${group}, ${name}`] ?? []).map((latencies) => latencies[figure]));
  const words = { p50: milliseconds, p99: milliseconds, perSecond: (rate: number) => `${Math.round(rate)}/s` };
  return (["p50", "p99", "perSecond"] as const).flatMap((figure) => {
    const title = figure === "perSecond" ? "rate" : figure;
    return [
      { what: `${group}, Feast, ${title}`, value: words[figure](of("Feast", figure)) },
      {
        what: `${group}, svc, ${title}`,
        value: words[figure](of("svc", figure)),
        ratio: of("svc", figure) / of("Feast", figure),
        anchor: "of Feast",
      },
    ];
  });
}

/** Makes the peer's venv unless it is there; the reason when that fails. */
export async function installFeast(): Promise<string | undefined> {
  if (await Bun.file(join(VENV, "ready")).exists()) return undefined;
  const python = await anyPython();
  if (!python) return "there is no Python 3.10 or newer";
  await rm(VENV, { recursive: true, force: true });
  for (const command of [
    [python, "-m", "venv", VENV],
    [join(VENV, "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", FEAST],
  ]) {
    const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
    const [stderr, exitCode] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    if (exitCode !== 0) {
      await rm(VENV, { recursive: true, force: true });
      return stderr.trim().split("\n").at(-1) || `${command[0]}: exit ${exitCode}`;
    }
  }
  await Bun.write(join(VENV, "ready"), `${FEAST}\n`);
  return undefined;
}

/**
 * Fills an online store with the views' values and starts Feast's server on it: one worker that is
 * never replaced, and no access log.
 */
async function startFeast(sandbox: Sandbox, views: readonly View[]): Promise<AsyncDisposable & { readonly port: number }> {
  const root = join(sandbox.root, "feast");
  await mkdir(root);
  await Bun.write(join(root, "views.json"), JSON.stringify(views));
  const env = { ...sandbox.env, HOME: root, FEAST_USAGE: "False" };
  const fill = Bun.spawn([join(VENV, "bin/python"), join(import.meta.dir, "feast-store.py"), root], {
    env,
    stdout: "ignore",
    stderr: "pipe",
  });
  const [stderr, exitCode] = await Promise.all([new Response(fill.stderr).text(), fill.exited]);
  if (exitCode !== 0) throw new Error(`Feast's store was not filled: ${stderr.slice(-2_000)}`);

  const port = await freePort();
  const options = ["--port", String(port), "--no-access-log", "--max-requests", "0", "--registry_ttl_sec", "86400"];
  const server = Bun.spawn([join(VENV, "bin/python"), join(import.meta.dir, "feast-serve.py"), "serve", ...options], {
    cwd: root,
    env,
    stdin: "ignore",
    stdout: "ignore",
    stderr: Bun.file(join(root, "server.log")),
  });
  const stop = async (): Promise<void> => {
    server.kill();
    await server.exited;
  };
  const deadline = performance.now() + START_MS;
  while (!(await answers(port))) {
    if (server.exitCode !== null || performance.now() > deadline) {
      await stop();
      throw new Error(`Feast's server does not answer: ${(await Bun.file(join(root, "server.log")).text()).slice(-2_000)}`);
    }
    await Bun.sleep(50);
  }
  return { port, [Symbol.asyncDispose]: stop };
}

/** Whether every feature of the first key is a hit. */
async function allFromStore(
  host: string,
  port: number,
  headers: Readonly<Record<string, string>>,
  owner: string,
  names: readonly string[],
): Promise<boolean> {
  const body = JSON.stringify({ inputs: { [`${owner}.id`]: 1 }, outputs: names.map((name) => `${owner}.${name}`), include_meta: true });
  const answer = await fetch(`http://${host}:${port}/v1/query/online`, { method: "POST", headers, body });
  const { data } = (await answer.json()) as { data: { meta: { cache_hit: boolean } }[] };
  return data.length === names.length && data.every(({ meta }) => meta.cache_hit);
}

function valuesOfSvc(latencies: Latencies): Map<string, unknown> {
  const { data } = JSON.parse(sampleText(latencies)) as { data: { field: string; value: unknown }[] };
  return new Map(data.map(({ field, value }) => [field.split(".").at(-1) ?? "", value]));
}

function valuesOfFeast(latencies: Latencies): Map<string, unknown> {
  const { metadata, results } = JSON.parse(sampleText(latencies)) as {
    metadata: { feature_names: string[] };
    results: { values: unknown[] }[];
  };
  const values = new Map(metadata.feature_names.map((name, index) => [name, results[index]?.values[0]]));
  values.delete("id");
  return values;
}

/** Both must serve the same; 64-bit integers are text in Feast's JSON. */
function sameValues(what: string, svc: Map<string, unknown>, feast: Map<string, unknown>): void {
  const different = [...svc].filter(([name, value]) => value === null || String(value) !== String(feast.get(name)));
  if (svc.size !== feast.size || different.length > 0)
    throw new Error(`${what}: ${svc.size} values of svc, ${feast.size} of Feast; different: ${JSON.stringify(different.slice(0, 3))}`);
}
