/**
 * An outbox on its own that is always full, as a process beside a server: what its deliveries take
 * of the machine, without a server that has to do with them. It runs until it is killed.
 *
 *   bun test/bench/delivering.ts URL DATABASE
 */

import { systemClock } from "../../src/context/system-clock.ts";
import { createSealer } from "../../src/server/access/sealing.ts";
import { createLog } from "../../src/server/log.ts";
import { openOutbox } from "../../src/server/stores/metadata/sqlite-outbox.ts";
import { createOutbox } from "../../src/server/webhooks/outbox.ts";
import { createSend } from "../../src/server/webhooks/send.ts";
import type { Webhook } from "../../src/server/webhooks/webhook.ts";

const EVENTS = 100;
const EVERY_MS = 100;

const [url = "", path = ""] = process.argv.slice(2);
const content = { url, subscriptions: [], sealedAs: "", headers: {} };
const webhook: Webhook = { id: "whk_1", scope: "env_1", name: "w", content, revision: 1, createdAt: 0, updatedAt: 0 };
const outbox = createOutbox({
  jobs: openOutbox({ path, programVersion: "1" }, Date.now),
  find: async () => webhook,
  sealer: createSealer([{ id: "k", secret: new Uint8Array(32) }]),
  send: createSend({ clock: systemClock, allowed: ["127.0.0.0/8"] }),
  clock: systemClock,
  log: createLog({ write: console.error, clock: systemClock }),
  node: "bench",
  version: "1",
});
await outbox.start();
console.log("delivering");
for (let n = 0; ; n++) {
  const event = (i: number) => ({
    subscription: "query.run",
    payload: JSON.stringify({ query_id: `q${n}.${i}` }),
    at: Date.now(),
    key: `${n}.${i}`,
  });
  await outbox.enqueue(
    { id: webhook.id, environmentId: webhook.scope, url },
    Array.from({ length: EVENTS }, (_, i) => event(i)),
  );
  await systemClock.sleep(EVERY_MS);
}
