import { describe, expect, test } from "bun:test";
import { createReadiness } from "../../../src/server/nodes/readiness.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { ManualClock } from "../jobs/manual-clock.ts";
import { HeldClock } from "./held-clock.ts";

describe("readiness", () => {
  test("a node is ready when its live deployments are loaded and its stores answer, until it drains", async () => {
    const clock = new ManualClock();
    let isAway = false;
    const probe = async () => {
      if (isAway) throw new Error("the disk is full");
    };
    const readiness = createReadiness({ clock, probes: { "metadata store": probe, "object store": async () => undefined } });
    expect(await readiness.report()).toEqual({ state: "starting", reasons: ["The live deployments are being loaded."] });
    readiness.loaded();
    expect(await readiness.report()).toEqual({ state: "ready", reasons: [] });
    isAway = true;
    await clock.advance(1_000);
    expect(await readiness.report()).toEqual({ state: "unavailable", reasons: ["The metadata store cannot be used: the disk is full."] });
    isAway = false;
    await clock.advance(1_000);
    expect((await readiness.report()).state).toBe("ready");
    readiness.drain();
    expect((await readiness.report()).state).toBe("draining");
  });

  test("a store that does not answer makes it unavailable", async () => {
    const clock = new ManualClock();
    const readiness = createReadiness({ clock, probes: { "online store": () => new Promise(() => undefined) } });
    const report = readiness.report();
    await clock.advance(5_000);
    expect(await report).toEqual({ state: "unavailable", reasons: ["The online store cannot be used: no answer within 5 s."] });
  });

  test("stores are asked once a second, however often somebody wants to know", async () => {
    const clock = new ManualClock();
    let asked = 0;
    const readiness = createReadiness({ clock, probes: { store: async () => void asked++ } });
    await Promise.all(Array.from({ length: 50 }, () => readiness.report()));
    expect(asked).toBe(1);
    await clock.advance(1_000);
    await readiness.report();
    expect(asked).toBe(2);
  });
});

describe("GET /health/ready", () => {
  test("says 200 when the server is ready; who may read is told why not, strangers the state alone", async () => {
    using folder = new TempFolder();
    await using server = await TestServer.start(folder.path);
    await server.server.ready;
    const ask = async (headers: Record<string, string> = {}) => {
      const response = await fetch(`${server.url}/health/ready`, { headers });
      return [response.status, await response.json()];
    };
    expect(await ask()).toEqual([200, { status: "ready" }]);
    expect(await ask({ authorization: `Bearer ${await server.token()}` })).toEqual([200, { status: "ready", reasons: [] }]);
    expect((await ask({ authorization: "Bearer wrong" }))[0]).toBe(401);
    expect((await fetch(`${server.url}/health/ready`, { method: "POST" })).status).toBe(405);
  });

  test("a server that is told to stop says 503 first and goes on serving until it has drained", async () => {
    using folder = new TempFolder();
    const clock = new HeldClock();
    const server = await TestServer.start(folder.path, { clock, drainMs: 60_000 });
    await server.server.ready;
    const token = await server.token();
    const stopped = server.server.stop();
    const headers = { authorization: `Bearer ${token}` };
    const ready = await fetch(`${server.url}/health/ready`, { headers });
    expect([ready.status, await ready.json()]).toEqual([503, { status: "draining", reasons: ["The server is about to stop."] }]);
    expect((await fetch(`${server.url}/health/ready`)).headers.get("retry-after")).toBe("1");
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect((await fetch(`${server.url}/v1/who-am-i`, { headers })).status).toBe(200);
    clock.release();
    await stopped;
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
  });
});
