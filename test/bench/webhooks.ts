/** Online queries with and without webhooks that are told of them. */

import type { Sandbox } from "../harness/sandbox.ts";
import { startReceiver } from "../server/webhooks/receiver.ts";
import { send, serve } from "./client.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES } from "./generate-project.ts";
import type { Latencies } from "./load.ts";

const REQUESTS = 4_000;
const CONCURRENCY = 1;
const STORED = STORED_FEATURES.map((name) => `profile.${name}`);
const WITH_LIVE = [...STORED.slice(1), "profile.live"];

/** Webhooks of each case; the last one's receiver never answers, so that its outbox is full. */
const CASES = {
  "no webhook": [],
  "a webhook of deployments": [["deployment.live", "taking"]],
  "query.run": [["query.run", "taking"]],
  "query.run, resolver.run, feature.computed": [["query.run,resolver.run,feature.computed", "taking"]],
  "query.run, receiver silent": [["query.run", "silent"]],
} as const satisfies Record<string, readonly (readonly [subscriptions: string, receiver: "taking" | "silent"])[]>;

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
  const subjects: Record<string, () => Promise<Latencies>> = {};
  for (const [kind, outputs] of Object.entries({ "20 stored": STORED, "19 stored + Python": WITH_LIVE }))
    for (const [name, webhooks] of Object.entries(CASES))
      subjects[`${kind}, ${name}`] = async () => {
        for (const id of await webhookIds()) await svc("webhook", "delete", "--id", id, "--yes");
        for (const [subscriptions, receiver] of webhooks)
          await svc("webhook", "create", "--name", "bench", "--url", receivers[receiver].url, "--subscriptions", subscriptions);
        const bodies = Array.from({ length: 1_000 }, (_, id) => ({ inputs: { "profile.id": id }, outputs }));
        const load = json("/v1/query/online", bodies);
        await send({ ...load, requests: 1_000, concurrency: CONCURRENCY });
        return send({ ...load, requests: REQUESTS, concurrency: CONCURRENCY });
      };
  try {
    const measured = await interleave(rounds, subjects);
    const of = (name: string, figure: "p50" | "p99") => median((measured[name] ?? []).map((latencies) => latencies[figure]));
    return Object.keys(subjects).flatMap((name) => {
      const anchor = `${name.slice(0, name.indexOf(", "))}, no webhook`;
      return (["p50", "p99"] as const).map((figure) => ({
        what: `${name}, ${figure}`,
        value: milliseconds(of(name, figure)),
        ...(name === anchor ? {} : { ratio: of(name, figure) / of(anchor, figure), anchor: "of none" }),
      }));
    });
  } finally {
    for (const receiver of Object.values(receivers)) receiver.stop();
  }
}
