import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createLog } from "../../../src/server/log.ts";
import { createMetricRecorder, type MetricRecording } from "../../../src/server/metrics/recorder.ts";
import { readGroupUse } from "../../../src/server/processes/group-use.ts";
import { createProcesses, type NewProcess, usedBetween } from "../../../src/server/processes/processes.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";

const DAY_MS = 86_400_000;
const WORKER: NewProcess = {
  ...{ kind: "worker", pid: 7, environmentId: "env_1", deploymentId: "dpl_1", resourceGroup: "default", memoryLimitBytes: undefined },
};

let folder: TempFolder;
let store: MetadataStore;
/** A clock that stands still. */
class StillClock extends TestClock {
  private at = 1_700_000_000_000;
  override now(): number {
    return this.at;
  }
  override advance(ms: number): void {
    this.at += ms;
  }
}

let clock: StillClock;
let use: Map<number, { cpuMs: number; memoryBytes: number }>;

beforeEach(() => {
  folder = new TempFolder();
  store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1.0.0" });
  clock = new StillClock();
  use = new Map();
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

const open = (node = "node_1", metrics?: MetricRecording) =>
  createProcesses({
    ...{ store: store.processes, node, clock, log: createLog({ clock, write: () => undefined }), readUse: () => use },
    ...(metrics && { metrics }),
  });
const running = async () => (await store.processes.running()).map(({ name, restarts }) => [name, restarts]);
const reasons = async () => (await store.processes.events({ limit: 99, offset: 0 })).map(({ reason }) => reason).toReversed();

describe("the processes of a node", () => {
  test("are named by their owner and place; one that crashed counts for the next in its place", async () => {
    const processes = open();
    const [first, second] = [processes.began(WORKER), processes.began(WORKER)];
    first.ready();
    await processes.measure();
    expect(await running()).toEqual([
      ["worker-dpl_1-1", 0],
      ["worker-dpl_1-2", 0],
    ]);
    first.ended({ isExpected: false, how: "was killed by SIGSEGV", cpuMs: 12.4 });
    processes.began(WORKER);
    second.ended({ isExpected: true, how: "exited with code 0", cpuMs: undefined });
    await processes.measure();
    expect(await running()).toEqual([["worker-dpl_1-1", 1]]);
    expect(await reasons()).toEqual(["Started", "Started", "Ready", "Crashed", "Started", "Stopped"]);
    expect((await store.processes.between(0, Number.MAX_SAFE_INTEGER, 9)).find(({ outcome }) => outcome === "crashed")?.cpuMs).toBe(12);
    await processes.close();
    expect(await running()).toEqual([]);
  });

  test("what an earlier start left behind is ended when it was last measured", async () => {
    const killed = open();
    killed.began(WORKER);
    await killed.measure();
    const next = open();
    await next.measure();
    expect((await store.processes.between(0, Number.MAX_SAFE_INTEGER, 9)).map(({ outcome }) => outcome)).toEqual(["lost"]);
    await next.close();
    await killed.close();
  });

  test("use is what was added since the last measure, never less, also when a figure falls", async () => {
    const processes = open();
    processes.began(WORKER);
    for (const [cpuMs, memoryBytes] of [
      [100, 1_000],
      [250, 3_000],
      [240, 2_000],
    ] as const) {
      clock.advance(1_000);
      use.set(7, { cpuMs, memoryBytes });
      await processes.measure();
    }
    expect(await store.processes.running()).toMatchObject([{ cpuMs: 250, memoryBytes: 2_000, peakMemoryBytes: 3_000 }]);
    const used = await store.usage.between("0000", "9999");
    expect(used.map(({ cpuMs, wallMs, memoryByteMs }) => [cpuMs, wallMs, memoryByteMs])).toEqual([[250, 3_000, 6_000_000]]);
    await processes.close();
  });

  test("what runs in a container is asked for its use, and keeps what was known while nobody knows", async () => {
    const processes = open();
    const answers = [
      async () => ({ cpuMs: 100, memoryBytes: 1_000 }),
      async () => undefined,
      () => Promise.reject(new Error("no engine")),
      async () => ({ cpuMs: 250, memoryBytes: 500 }),
    ];
    processes.began({ ...WORKER, pid: 0, use: () => answers.shift()?.() ?? Promise.resolve(undefined) });
    use.set(0, { cpuMs: 9_000, memoryBytes: 9_000 });
    const measures: unknown[] = [];
    while (answers.length > 0) {
      clock.advance(1_000);
      await processes.measure();
      const [{ cpuMs, memoryBytes, peakMemoryBytes } = {}] = await store.processes.running();
      measures.push([cpuMs, memoryBytes, peakMemoryBytes]);
    }
    expect(measures).toEqual([
      [100, 1_000, 1_000],
      [100, 1_000, 1_000],
      [100, 1_000, 1_000],
      [250, 500, 1_000],
    ]);
    await processes.close();
  });

  test("what has ended while it was asked for its use stays as it ended", async () => {
    const processes = open();
    const reports = processes.began({
      ...{ ...WORKER, pid: 0 },
      async use() {
        reports.ended({ isExpected: true, how: "exited with code 0", cpuMs: 40 });
        return { cpuMs: 30, memoryBytes: 1_000 };
      },
    });
    await processes.measure();
    await processes.close();
    const ended = await store.processes.between(0, Number.MAX_SAFE_INTEGER, 9);
    expect(ended.map(({ cpuMs, memoryBytes, outcome }) => [cpuMs, memoryBytes, outcome])).toEqual([[40, 0, "stopped"]]);
  });

  test("workers are recorded by the tag of their deployment, or its id", async () => {
    const log = createLog({ clock, write: () => undefined });
    const metrics = createMetricRecorder({ store: () => Promise.reject(new Error("there is none")), clock, log });
    const processes = open("node_1", metrics);
    processes.began({ ...WORKER, tag: "blue" }).ready();
    processes.began({ ...WORKER, pid: 8, deploymentId: "dpl_2", tag: "" });
    use.set(7, { cpuMs: 500, memoryBytes: 3_000 }).set(8, { cpuMs: 250, memoryBytes: 1_000 });
    clock.advance(1_000);
    await processes.measure();
    await metrics.flush();
    const recorded = metrics.series().map(({ metric, labels, last }) => [metric, labels.deployment, labels.state ?? "", last]);
    expect(recorded.filter(([metric]) => String(metric).startsWith("worker.")).sort()).toEqual([
      ["worker.count", "blue", "ready", 1],
      ["worker.count", "dpl_2", "starting", 1],
      ["worker.cpu", "blue", "", 0],
      ["worker.cpu", "dpl_2", "", 0],
      ["worker.memory", "blue", "", 3_000],
      ["worker.memory", "dpl_2", "", 1_000],
    ]);
    expect(await running()).toEqual([
      ["worker-dpl_1-1", 0],
      ["worker-dpl_2-1", 0],
    ]);
    metrics.end();
    await processes.close();
  });
});

test("a period over midnight is divided by its days, and nothing is lost or made up", () => {
  const from = Date.UTC(2026, 0, 1, 18);
  const record = { ...WORKER, measuredAt: from } as Parameters<typeof usedBetween>[0];
  const used = usedBetween(record, from + DAY_MS + 3_600_000, 25_000, 10);
  expect(used.map(({ day, cpuMs, wallMs, memoryByteMs }) => [day, cpuMs, wallMs / 3_600_000, memoryByteMs / 3_600_000])).toEqual([
    ["2026-01-01", 6_000, 6, 60],
    ["2026-01-02", 19_000, 19, 190],
  ]);
  expect(usedBetween(record, from, 0, 10)).toEqual([]);
});

test.skipIf(process.platform !== "linux")("the use of a process group is that of its processes, and grows with their work", async () => {
  const busy =
    "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint('done', flush=True)\ntime.sleep(600)";
  const child = Bun.spawn(["sh", "-c", `python3 -c "${busy}" & wait; cat`], { stdin: "pipe", stdout: "pipe", detached: true });
  const reader = child.stdout.getReader();
  await reader.read();
  const together = readGroupUse([{ pid: child.pid, withChildren: true }]).get(child.pid);
  const alone = readGroupUse([{ pid: child.pid, withChildren: false }]).get(child.pid);
  expect(together?.cpuMs).toBeGreaterThanOrEqual(290);
  expect(alone?.cpuMs ?? 0).toBeLessThan(290);
  expect(together?.memoryBytes ?? 0).toBeGreaterThan(alone?.memoryBytes ?? 0);
  process.kill(-child.pid, "SIGKILL");
  await child.exited;
  await eventually(() => readGroupUse([{ pid: child.pid, withChildren: true }]).size === 0, "the group is gone");
});
