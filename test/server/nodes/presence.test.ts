import { expect, test } from "bun:test";
import { join } from "node:path";
import { createLog } from "../../../src/server/log.ts";
import { GONE_AFTER_MS, startPresence } from "../../../src/server/nodes/presence.ts";
import type { NodeStore } from "../../../src/server/stores/metadata/nodes.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { ManualClock } from "../jobs/manual-clock.ts";

function setup(storeClock?: ManualClock) {
  const folder = new TempFolder();
  const clock = new ManualClock();
  const logged: Record<string, unknown>[] = [];
  const store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1", now: (storeClock ?? clock).now });
  const start = (id: string, nodes: NodeStore = store.nodes) =>
    startPresence({
      nodes,
      id,
      url: `http://127.0.0.1/${id}`,
      gatewayUrl: "",
      version: "1",
      clock,
      log: createLog({ clock, write: (line) => logged.push(JSON.parse(line) as Record<string, unknown>) }),
    });
  return { clock, logged, store, start, [Symbol.asyncDispose]: async () => store.close().then(() => folder[Symbol.dispose]()) };
}

test("a node is seen as long as it is heard of; one that dies is gone, one that leaves at once", async () => {
  await using at = setup();
  let isDead = false;
  const orDead = <T>(use: () => Promise<T>): Promise<T> => (isDead ? Promise.reject(new Error("dead")) : use());
  const mortal: NodeStore = { ...at.store.nodes, heartbeat: (node) => orDead(() => at.store.nodes.heartbeat(node)) };
  const [a, b] = [at.start("a"), at.start("b", mortal)];
  const seen = async () => (await a.nodes()).map(({ id, isDraining }) => `${id}${isDraining ? " drains" : ""}`);
  await at.clock.advance(GONE_AFTER_MS * 3);
  expect(await seen()).toEqual(["a", "b"]);
  await b.drain();
  expect(await seen()).toEqual(["a", "b drains"]);
  isDead = true;
  await at.clock.advance(GONE_AFTER_MS);
  expect(await seen()).toEqual(["a", "b drains"]);
  await at.clock.advance(1);
  expect(await seen()).toEqual(["a"]);
  await b.leave();
  await a.leave();
  expect(await at.store.nodes.list(Number.MAX_SAFE_INTEGER)).toEqual([]);
});

test("a clock that is not the store's is told of once", async () => {
  const storeClock = new ManualClock();
  await using at = setup(storeClock);
  storeClock.set(storeClock.now() - 5_000);
  const presence = at.start("a");
  await at.clock.advance(0);
  await storeClock.advance(10_000);
  await at.clock.advance(10_000);
  expect(at.logged).toMatchObject([{ level: "warning", skew_ms: -5_000 }]);
  await presence.leave();
});
