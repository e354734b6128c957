/** Monitors over the real stores, minute by minute, by a clock that the test moves. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { GraphSchema, type MonitorSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { ExponentialHistogram } from "../../../src/domain/metrics/exponential-histogram.ts";
import { type Bus, createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createLog } from "../../../src/server/log.ts";
import { createMonitors, type Monitors } from "../../../src/server/monitors/monitors.ts";
import type { EnvironmentRecord } from "../../../src/server/stores/metadata/identity.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import type { MetricStore } from "../../../src/server/stores/metrics/store.ts";
import type { MonitorEvent } from "../../../src/server/webhooks/events.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { ManualClock } from "../jobs/manual-clock.ts";
import { METRIC_DRIVERS } from "../stores/metrics/drivers.ts";

type Definition = MessageInitShape<typeof MonitorSchema>;

const MINUTE = 60_000;
const ENV = "env_1";
const SIGNAL = new AbortController().signal;
const SLOW: Definition = {
  ...{ name: "slow", expression: "max:query.latency{query_name:fraud}.rollup(2m)", above: "80ms", severity: "critical" },
  ...{ pendingFor: { seconds: 180n }, webhooks: ["ops"], owner: "risk@example.com" },
};

let folder: TempFolder;
let clock: ManualClock;
let metadata: MetadataStore;
let metrics: MetricStore;
let told: MonitorEvent[];
let live: Record<string, Definition[]>;
let lines: string[];
let monitors: Monitors;
/** What keeps events from being queued. */
let outage: Error | undefined;
let bus: Bus;

function open(): Monitors {
  return createMonitors({
    metadata: {
      environments: () => metadata.environments(),
      livePointers: async () =>
        Object.keys(live).flatMap((environmentId) => [
          { environmentId, branch: "", deploymentId: deploymentOf(environmentId), previousId: undefined },
          { environmentId, branch: "b", deploymentId: "dpl_branch", previousId: undefined },
        ]),
      monitors: metadata.monitors,
    },
    deployments: {
      graph: async (id) => {
        const [of] = Object.keys(live).filter((environmentId) => deploymentOf(environmentId) === id);
        if (of === undefined) throw new Error(`nobody asks for ${id}`);
        return create(GraphSchema, { monitors: live[of] ?? [] });
      },
      resolve: async ({ environment }) => deploymentOf(environment.id),
      traffic: { all: async () => [] } as never,
    },
    bus,
    reader: async () => ({ read: (selection) => metrics.read(selection) }),
    events: async () => ({
      async monitorChanged(event) {
        if (outage) throw outage;
        if (!told.some(({ type, key }) => type === event.type && key === event.key)) told.push(event);
      },
    }),
    clock,
    log: createLog({ write: (line) => void lines.push(line), clock }),
  });
}

let deployed = 0;
const deploymentOf = (environmentId: string) => `dpl_${environmentId}_${deployed}`;
/** Deploys other monitors. */
function deploy(...definitions: Definition[]): void {
  deployed++;
  live = { [ENV]: definitions };
}

beforeEach(async () => {
  folder = new TempFolder();
  clock = new ManualClock();
  clock.set(Date.UTC(2026, 0, 5, 12));
  [told, lines, outage, bus] = [[], [], undefined, createMemoryBus()];
  metadata = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1", now: clock.now });
  await metadata.bootstrap({
    ...{ team: { id: "team_1", name: "team" }, project: { id: "prj_1", name: "project" }, environment: { id: ENV, name: "default" } },
    client: { id: "client_1", name: "first", secretHash: new Uint8Array([1]), permissions: ["admin"] },
    now: clock.now(),
  });
  metrics = await (METRIC_DRIVERS[1] as (typeof METRIC_DRIVERS)[number]).open(folder.path, { now: clock.now });
  deploy(SLOW);
  monitors = open();
});
afterEach(async () => {
  await metrics.close();
  await metadata.close();
  folder[Symbol.dispose]();
});

/** Lets a minute pass in which a query took so long, in seconds, and evaluates. */
async function minute(seconds: number | undefined, { query_name = "fraud", by = [monitors] as readonly Monitors[] } = {}): Promise<void> {
  if (seconds !== undefined) await record(clock.now(), { query_name }, seconds);
  await clock.advance(MINUTE);
  await evaluate(by);
}

async function record(at: number, labels: { readonly query_name: string }, ...seconds: readonly number[]): Promise<void> {
  const histogram = new ExponentialHistogram();
  for (const one of seconds) histogram.record(one);
  const bounds = { min: Math.min(...seconds), max: Math.max(...seconds), sum: seconds.reduce((sum, one) => sum + one, 0) };
  await metrics.append([
    {
      ...{ environmentId: ENV, metric: "query.latency", labels: { ...labels, deployment: "", branch: "" } },
      bucket: { at: Math.floor(at / MINUTE) * MINUTE, count: seconds.length, ...bounds, histogram: histogram.encode() },
    },
  ]);
}

/** Evaluates ten seconds after the minute, when every node has stored it. */
async function evaluate(by: readonly Monitors[] = [monitors]): Promise<void> {
  await clock.advance(10_000);
  await Promise.all(by.map((one) => one.evaluate(SIGNAL)));
  await clock.advance(-10_000);
}

const environment = async () => (await metadata.environment(ENV)) as EnvironmentRecord;
const view = async (name = "slow") => (await monitors.list(await environment())).find(({ monitor }) => monitor.name === name);
const state = async (name = "slow") => (await view(name))?.standing?.state;
const events = () => told.map(({ type }) => type);
const clockText = (time: number) => new Date(time).toISOString().slice(11, 16);

describe("a monitor", () => {
  test("fires once its bound was broken for so long, and is resolved by the first value that keeps it", async () => {
    const states: (string | undefined)[] = [];
    for (const seconds of [0.02, 0.09, 0.02, 0.02, 0.09, 0.1, 0.2, 0.09, 0.3, 0.02, 0.02, 0.02]) {
      await minute(seconds);
      states.push(await state());
    }
    // A value is of two minutes, so a slow one counts in two.
    expect(states).toEqual([
      ...["ok", "pending", "pending", "ok", "pending", "pending", "pending", "firing", "firing", "firing", "ok", "ok"],
    ]);
    expect(told).toEqual([
      {
        ...{ type: "monitor.firing", environmentId: ENV, webhooks: ["ops"], at: Date.UTC(2026, 0, 5, 12, 8) },
        key: `env_1/slow/${Date.UTC(2026, 0, 5, 12, 8)}`,
        payload: {
          ...{ monitor: "slow", severity: "critical", owner: "risk@example.com", description: "", deployment_id: deploymentOf(ENV) },
          ...{ query: SLOW.expression, above: "80ms", below: null, unit: "seconds", value: 0.2, labels: {} },
          fired_at: "2026-01-05T12:08:00.000Z",
        },
      },
      expect.objectContaining({
        ...{ type: "monitor.resolved", at: Date.UTC(2026, 0, 5, 12, 11), key: `env_1/slow/${Date.UTC(2026, 0, 5, 12, 8)}` },
        payload: expect.objectContaining({ value: 0.02, fired_at: "2026-01-05T12:08:00.000Z", resolved_at: "2026-01-05T12:11:00.000Z" }),
      }),
    ]);
  });

  test("is told to those who look, each time that it was evaluated, silenced or heard again, once that can be read", async () => {
    const read: Promise<readonly (readonly [change: string, state: string | undefined, silences: number])[]>[] = [];
    bus.subscribe("changes", (change) => {
      const standings = metadata.monitors.list(ENV);
      const silences = metadata.monitors.silences(ENV);
      read.push(Promise.all([standings, silences]).then(([of, silent]) => of.map((one) => [change, one.state, silent.length])));
    });
    const seen = async () => (await Promise.all(read.splice(0))).flat();
    for (const seconds of [0.02, 0.09, 0.09, 0.09]) await minute(seconds);
    expect(await seen()).toEqual(["ok", "pending", "pending", "pending"].map((one) => ["monitors/env_1", one, 0]));
    await minute(0.09);
    expect(await seen()).toEqual([["monitors/env_1", "firing", 0]]);
    await evaluate();
    expect(await seen()).toEqual([]);
    await monitors.silence(await environment(), "slow", { until: clock.now() + MINUTE, clientId: "client_1", reason: "known" });
    await monitors.endSilence(await environment(), "slow");
    expect(await seen()).toEqual([
      ["monitors/env_1", "firing", 1],
      ["monitors/env_1", "firing", 0],
    ]);
    for (const seconds of [0.02, 0.02]) await minute(seconds);
    expect((await seen()).at(-1)).toEqual(["monitors/env_1", "ok", 0]);
  });

  test("has no data where nothing was recorded, which neither fires nor resolves", async () => {
    for (const seconds of [0.09, undefined, undefined, 0.09, 0.09, 0.09, 0.09]) await minute(seconds);
    expect([await state(), events()]).toEqual(["firing", ["monitor.firing"]]);
    for (const seconds of [undefined, undefined, undefined]) await minute(seconds);
    expect([await state(), (await view())?.standing?.value, events()]).toEqual(["no_data", undefined, ["monitor.firing"]]);
    await minute(0.09);
    expect([await state(), events()]).toEqual(["firing", ["monitor.firing"]]);
    for (const seconds of [undefined, undefined, 0.02]) await minute(seconds);
    expect([await state(), events()]).toEqual(["ok", ["monitor.firing", "monitor.resolved"]]);
  });

  test("goes on as it was after a restart, and begins anew after a long one", async () => {
    for (const seconds of [0.09, 0.09, 0.09]) await minute(seconds);
    expect(await state()).toBe("pending");
    monitors = open();
    await minute(0.09);
    expect([await state(), events()]).toEqual(["firing", ["monitor.firing"]]);
    deploy({ ...SLOW, name: "other" });
    for (const seconds of [0.09, 0.09]) await minute(seconds);
    expect(await state("other")).toBe("pending");
    await clock.advance(60 * MINUTE);
    for (const seconds of [0.09, 0.09, 0.09]) await minute(seconds);
    expect(await state("other")).toBe("pending");
    await minute(0.09);
    expect(await state("other")).toBe("firing");
  });

  test("is of several series the worst one", async () => {
    const by = { expression: "max:query.latency by {query_name}.rollup(1m)", pendingFor: undefined };
    deploy({ ...SLOW, ...by, name: "above" }, { ...SLOW, ...by, name: "below", above: "", below: "50ms" });
    await record(clock.now(), { query_name: "a" }, 0.06);
    await record(clock.now(), { query_name: "b" }, 0.09);
    await minute(0.04, { query_name: "c" });
    const [above, below] = [await view("above"), await view("below")];
    expect([above?.standing?.state, above?.standing?.value, above?.standing?.labels]).toEqual(["firing", 0.09, { query_name: "b" }]);
    expect([below?.standing?.state, below?.standing?.value, below?.standing?.labels]).toEqual(["firing", 0.04, { query_name: "c" }]);
  });

  test("that is taken out is forgotten, and nothing is told of it", async () => {
    for (const seconds of [0.09, 0.09, 0.09, 0.09]) await minute(seconds);
    deploy();
    await minute(0.02);
    expect([await metadata.monitors.list(), events()]).toEqual([[], ["monitor.firing"]]);
  });
});

describe("evaluations", () => {
  test("of one minute on two nodes are one", async () => {
    const nodes = [monitors, open()];
    for (const seconds of [0.09, 0.09, 0.09, 0.09, 0.02, 0.02]) await minute(seconds, { by: nodes });
    expect(events()).toEqual(["monitor.firing", "monitor.resolved"]);
  });

  test("tell what could not be told before, once", async () => {
    for (const seconds of [0.09, 0.09, 0.09]) await minute(seconds);
    outage = new Error("the disk is full");
    await minute(0.09);
    await minute(0.09);
    expect([await state(), events(), lines.some((line) => line.includes("the disk is full"))]).toEqual(["firing", [], true]);
    outage = undefined;
    monitors = open();
    await minute(0.09);
    await minute(0.09);
    expect(told.map(({ type, at }) => [type, clockText(at)])).toEqual([["monitor.firing", "12:04"]]);
  });

  test("leave out suspended environments, which begin anew", async () => {
    for (const seconds of [0.09, 0.09]) await minute(seconds);
    await metadata.suspendEnvironment(ENV, clock.now());
    const before = await metadata.monitors.list();
    for (const seconds of [0.09, 0.09, 0.09]) await minute(seconds);
    expect([await metadata.monitors.list(), events()]).toEqual([before, []]);
    await clock.advance(20 * MINUTE);
    await metadata.suspendEnvironment(ENV, undefined);
    for (const seconds of [0.09, 0.09, 0.09]) await minute(seconds);
    expect([await state(), events()]).toEqual(["pending", []]);
  });

  test("of one environment do not keep those of another from being made", async () => {
    await metadata.createEnvironment({ id: "env_0", name: "broken", projectId: "prj_1", createdAt: clock.now() });
    const broken = { ...SLOW, name: "broken" };
    live = { env_0: [broken], [ENV]: [SLOW] };
    const put = metadata.monitors.put.bind(metadata.monitors);
    metadata = {
      ...metadata,
      monitors: { ...metadata.monitors, put: (all) => (all[0]?.name === "broken" ? Promise.reject(new Error("no")) : put(all)) },
    };
    monitors = open();
    await minute(0.02);
    expect([await state(), lines.filter((line) => line.includes("could not be evaluated")).length]).toEqual(["ok", 1]);
  });

  test("go on beside a monitor that this version cannot read", async () => {
    deploy({ ...SLOW, name: "bad", expression: "max:query.gone" }, SLOW);
    await minute(0.02);
    expect([await state(), await view("bad")]).toEqual(["ok", undefined]);
  });
});

describe("a silence", () => {
  const silence = async (ms: number, reason = "a release") =>
    monitors.silence(await environment(), "slow", { until: clock.now() + ms, clientId: "client_1", reason });

  test("keeps webhooks from being told, not the monitor from being evaluated", async () => {
    await silence(60 * MINUTE);
    for (const seconds of [0.09, 0.09, 0.09, 0.09]) await minute(seconds);
    const { silence: kept, standing } = (await view()) ?? {};
    expect([standing?.state, kept?.clientId, kept?.reason, events()]).toEqual(["firing", "client_1", "a release", []]);
    for (const seconds of [0.02, 0.02]) await minute(seconds);
    expect([await state(), events()]).toEqual(["ok", []]);
  });

  test("that is over while it fires has it told, with the time at which it fired", async () => {
    await silence(6 * MINUTE);
    for (const seconds of [0.09, 0.09, 0.09, 0.09, 0.09]) await minute(seconds);
    expect(events()).toEqual([]);
    await minute(0.09);
    expect(told.map(({ type, at }) => [type, clockText(at)])).toEqual([["monitor.firing", "12:04"]]);
    expect((await view())?.silence).toBeUndefined();
  });

  test("that hid the end of what was told has it told afterwards", async () => {
    for (const seconds of [0.09, 0.09, 0.09, 0.09]) await minute(seconds);
    await silence(60 * MINUTE);
    for (const seconds of [0.02, 0.02]) await minute(seconds);
    expect(events()).toEqual(["monitor.firing"]);
    await monitors.endSilence(await environment(), "slow");
    await minute(0.02);
    expect(events()).toEqual(["monitor.firing", "monitor.resolved"]);
  });

  test("is for a monitor that there is, and for a time to come that is not far", async () => {
    const wish = { until: clock.now() + 1, clientId: "c", reason: "" };
    const of = await environment();
    await expect(monitors.silence(of, "slwo", wish)).rejects.toThrow("There is no monitor 'slwo' in the deployment; did you mean 'slow'?");
    await expect(silence(0)).rejects.toThrow("would be over already");
    await expect(silence(31 * 24 * 60 * MINUTE)).rejects.toThrow("at most 30d");
    await expect(silence(MINUTE, "x".repeat(501))).rejects.toThrow("longer than 500");
    await expect(monitors.endSilence(of, "slow")).rejects.toThrow("is not silenced");
  });
});

describe("a test", () => {
  const tested = async (sinceMs?: number) => (await monitors.test(await environment(), "slow", sinceMs)).replay;

  test("finds when it fired, as it did", async () => {
    for (const seconds of [0.02, 0.09, 0.09, 0.09, 0.2, 0.09, 0.02, undefined, undefined, 0.02, 0.09, 0.09, 0.09, 0.09, 0.09])
      await minute(seconds);
    await clock.advance(10_000);
    const { firings, ...rest } = await tested(15 * MINUTE);
    const [first, second] = told.filter(({ type }) => type === "monitor.firing").map(({ at }) => at);
    const resolved = told.filter(({ type }) => type === "monitor.resolved").map(({ at }) => at);
    expect(firings).toEqual([
      { firedAt: first as number, resolvedAt: resolved[0] as number, worst: 0.2, labels: {} },
      { firedAt: second as number, resolvedAt: undefined, worst: 0.09, labels: {} },
    ]);
    // Ends of periods of two minutes from 12:02 to 12:15; that until 12:09 has no values.
    expect(rest).toEqual({
      ...{ from: Date.UTC(2026, 0, 5, 12, 2), until: Date.UTC(2026, 0, 5, 12, 15), stepMs: MINUTE },
      ...{ evaluations: 14, withoutValue: 1, broken: 11 },
    });
  });

  test("of long periods is made by longer steps, and looks further back", async () => {
    deploy({ ...SLOW, expression: "max:query.latency.rollup(1h)", pendingFor: undefined });
    await clock.advance(3 * 24 * 60 * MINUTE);
    await record(clock.now() - 70 * 60 * MINUTE, { query_name: "a" }, 0.5);
    await metrics.thin(clock.now());
    await clock.advance(10_000);
    const { evaluations, firings, stepMs } = await tested(72 * 60 * MINUTE);
    expect([stepMs / MINUTE, evaluations]).toEqual([10, 71 * 6 + 1]);
    // No value keeps the bound: there is none after it.
    expect(firings.map(({ resolvedAt, worst }) => [resolvedAt, worst])).toEqual([[undefined, 0.5]]);
  });

  test("is of a time that is known and longer than a value's", async () => {
    await expect(tested(2 * MINUTE)).rejects.toThrow("of no longer time");
    await expect(tested(3 * 24 * 60 * MINUTE)).rejects.toThrow("known for 1d23h55m");
    expect((await tested()).evaluations).toBe(24 * 60 - 2);
    deploy({ ...SLOW, expression: "max:query.latency.rollup(10m)" });
    expect((await tested(30 * 24 * 60 * MINUTE)).evaluations).toBe(30 * 24 * 6 - 1);
    await expect(tested(31 * 24 * 60 * MINUTE)).rejects.toThrow("known for 30d");
  });
});
