/** Online queries with and without webhooks that are told of them. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "../harness/sandbox.ts";
import { startReceiver } from "../server/webhooks/receiver.ts";
import { firstLine, send, serve } from "./client.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES } from "./generate-project.ts";
import type { Latencies } from "./load.ts";

const REQUESTS = 20_000;
const CONCURRENCY = 1;
const STORED = STORED_FEATURES.map((name) => `profile.${name}`);
const WITH_LIVE = [...STORED.slice(1), "profile.live"];

/**
 * Webhooks of each case. The silent receiver never answers, so that its outbox is full. `elsewhere`
 * is the control: an outbox of another process is as busy, and shares nothing with the server but
 * the machine.
 */
const CASES = {
  "no webhook": [],
  "another process delivers": ["elsewhere"],
  "a webhook of deployments": [["deployment.live", "taking"]],
  "query.run": [["query.run", "taking"]],
  "query.run, resolver.run, feature.computed": [["query.run,resolver.run,feature.computed", "taking"]],
  "query.run, receiver silent": [["query.run", "silent"]],
} as const satisfies Record<string, readonly ("elsewhere" | readonly [subscriptions: string, receiver: "taking" | "silent"])[]>;

/** Figures of a case by their words in the report. */
const FIGURES = { p50: "p50", p99: "p99", "main thread": "mainThreadMs" } as const;

/** Latencies, and what a query took of the server's main thread. */
interface Measured extends Latencies {
  readonly mainThreadMs: number;
}

/**
 * Queries of stored features, and of one that Python computes, one at a time, against the same
 * without a webhook. They come as fast as they are answered, so that the outboxes are full.
 */
export async function measureWebhooks(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const allow = { SVC_WEBHOOK_ALLOW: "127.0.0.0/8" };
  const { json } = await serve(sandbox, queryProject(), allow);
  const receivers = { taking: startReceiver(), silent: startReceiver() };
  receivers.silent.answer(() => new Promise(() => undefined));
  const svc = async (...words: string[]) => {
    const { exitCode, stdout, stderr } = await sandbox.svc(words);
    if (exitCode !== 0) throw new Error(stderr);
    return stdout;
  };
  const webhookIds = async () =>
    (JSON.parse(await svc("webhook", "list", "--json")) as { webhooks: { id: string }[] }).webhooks.map(({ id }) => id);
  const { pid } = JSON.parse(await svc("server", "status", "--json")) as { pid: number };
  const subjects: Record<string, () => Promise<Measured>> = {};
  for (const [kind, outputs] of Object.entries({ "20 stored": STORED, "19 stored + Python": WITH_LIVE }))
    for (const [name, webhooks] of Object.entries(CASES))
      subjects[`${kind}, ${name}`] = async () => {
        for (const id of await webhookIds()) await svc("webhook", "delete", "--id", id, "--yes");
        const elsewhere = webhooks.some((one) => one === "elsewhere") ? await deliverElsewhere(sandbox, receivers.taking.url) : undefined;
        for (const [subscriptions, receiver] of webhooks.filter((one) => one !== "elsewhere"))
          await svc("webhook", "create", "--name", "bench", "--url", receivers[receiver].url, "--subscriptions", subscriptions);
        const bodies = Array.from({ length: 1_000 }, (_, id) => ({ inputs: { "profile.id": id }, outputs }));
        const load = json("/v1/query/online", bodies);
        await send({ ...load, requests: 1_000, concurrency: CONCURRENCY });
        const before = mainThreadMs(pid);
        const latencies = await send({ ...load, requests: REQUESTS, concurrency: CONCURRENCY }).finally(() => elsewhere?.kill());
        return { ...latencies, mainThreadMs: (mainThreadMs(pid) - before) / REQUESTS };
      };
  try {
    const measured = await interleave(rounds, subjects);
    const of = (name: string, figure: (typeof FIGURES)[keyof typeof FIGURES]) =>
      median((measured[name] ?? []).map((latencies) => latencies[figure]));
    return Object.keys(subjects).flatMap((name) => {
      const anchor = `${name.slice(0, name.indexOf(", "))}, no webhook`;
      return Object.entries(FIGURES).map(([words, figure]) => ({
        what: `${name}, ${words}`,
        value: milliseconds(of(name, figure)),
        ...(name === anchor ? {} : { ratio: of(name, figure) / of(anchor, figure), anchor: "of none" }),
      }));
    });
  } finally {
    for (const receiver of Object.values(receivers)) receiver.stop();
  }
}

/** Milliseconds for which a process's main thread has run; NaN where the system does not say. */
function mainThreadMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return Number.NaN;
  }
}

/** A process that delivers as much as a server can be told of; resolves when it has begun. */
async function deliverElsewhere({ root }: Sandbox, url: string): Promise<Bun.Subprocess> {
  const database = join(root, `${crypto.randomUUID()}.db`);
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "delivering.ts"), url, database], { stdout: "pipe", stderr: "inherit" });
  await firstLine(child.stdout);
  return child;
}
