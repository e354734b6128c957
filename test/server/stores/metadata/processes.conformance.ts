/** What the processes of every metadata store must do. */

import { describe, expect, test } from "bun:test";
import type { ProcessEvent, ProcessRecord } from "../../../../src/server/stores/metadata/processes.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { NO_USE } from "../../../../src/server/stores/metadata/usage.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

const record = (id: string, patch: Partial<ProcessRecord> = {}): ProcessRecord => ({
  ...{ id, name: `worker-${id}`, kind: "worker", node: "node_1", host: "h", pid: 7, environmentId: "env_1", deploymentId: "dpl_1" },
  ...{ resourceGroup: "default", restarts: 0, memoryLimitBytes: undefined, startedAt: NOW, readyAt: undefined, endedAt: undefined },
  ...{ outcome: "", measuredAt: NOW, cpuMs: 0, memoryBytes: 0, peakMemoryBytes: 0 },
  ...patch,
});
const event = (message: string, patch: Partial<ProcessEvent> = {}): ProcessEvent => ({
  ...{ at: NOW, type: "Normal", reason: "Started", environmentId: "env_1", process: "worker-a", message },
  ...patch,
});

/** Runs the suite against a driver. */
export function processesConformance(driver: Driver<MetadataStore>): void {
  describe(`processes: ${driver.name}`, () => {
    const on = openEach(driver);

    test("a process is kept with all that was said of it, and runs until it is said to have ended", async () => {
      const b = record("b", { memoryLimitBytes: 2 ** 40, restarts: 3 });
      await on.store.processes.begin(b);
      await on.store.processes.begin(record("a"));
      await on.reopen();
      expect(await on.store.processes.running()).toEqual([record("a"), b]);
      const change = { readyAt: NOW + 1, endedAt: NOW + 5, outcome: "crashed", cpuMs: 12 } as const;
      await on.store.processes.measure([{ id: "b", change, used: [] }]);
      expect((await on.store.processes.running()).map(({ id }) => id)).toEqual(["a"]);
      expect(await on.store.processes.between(NOW, NOW + 1, 10)).toEqual([{ ...b, ...change }, record("a")]);
    });

    test("those that a node left end when they were last measured, and those of other nodes go on", async () => {
      await on.store.processes.begin(record("a", { measuredAt: NOW + 9, memoryBytes: 5 }));
      await on.store.processes.begin(record("b", { node: "node_2" }));
      expect([await on.store.processes.endLost("node_1"), await on.store.processes.endLost("node_1")]).toEqual([1, 0]);
      expect((await on.store.processes.running()).map(({ id }) => id)).toEqual(["b"]);
      expect((await on.store.processes.between(0, NOW + 1, 10)).at(-1)).toMatchObject({
        id: "a",
        endedAt: NOW + 9,
        outcome: "lost",
        memoryBytes: 0,
      });
    });

    test("a period has the processes that ran in it, newest first, no more than asked for", async () => {
      await on.store.processes.begin(record("before", { startedAt: NOW - 10, endedAt: NOW - 1, outcome: "stopped" }));
      await on.store.processes.begin(record("into", { startedAt: NOW - 10, endedAt: NOW, outcome: "stopped" }));
      await on.store.processes.begin(record("through", { startedAt: NOW - 5 }));
      await on.store.processes.begin(record("after", { startedAt: NOW + 10 }));
      const found = async (limit: number) => (await on.store.processes.between(NOW, NOW + 10, limit)).map(({ id }) => id);
      expect([await found(10), await found(1)]).toEqual([["through", "into"], ["through"]]);
    });

    test("what a measure says was used is added with it, or not at all", async () => {
      await on.store.processes.begin(record("a"));
      const used = (day: string, cpuMs: number, environmentId = "env_1") => ({
        ...{ ...NO_USE, day, environmentId, resourceGroup: "default", kind: "worker" as const },
        ...{ cpuMs, wallMs: 10 * cpuMs, memoryByteMs: 2 ** 60 },
      });
      await on.store.processes.measure([{ id: "a", change: { cpuMs: 1 }, used: [used("2026-01-01", 1), used("2026-01-02", 2)] }]);
      await on.store.processes.measure([{ id: "a", change: { cpuMs: 3 }, used: [used("2026-01-02", 3), used("2026-01-02", 4, "")] }]);
      const wrong = [used("2026-01-02", 9), used("2026-01-02", null as unknown as number, "")];
      await expect(on.store.processes.measure([{ id: "a", change: { cpuMs: 99 }, used: wrong }])).rejects.toThrow();
      expect((await on.store.processes.running()).map(({ cpuMs }) => cpuMs)).toEqual([3]);
      expect(await on.store.usage.between("2026-01-01", "2026-01-02")).toEqual([
        used("2026-01-01", 1),
        used("2026-01-02", 4, ""),
        { ...used("2026-01-02", 5), memoryByteMs: 2 ** 61 },
      ]);
    });

    test("events are found by time, environment, process and a part of the message, newest first, by pages", async () => {
      await on.store.processes.addEvent(event("first"));
      await on.store.processes.addEvent(event("Second %_", { at: NOW + 1, type: "Warning", environmentId: "env_2" }));
      await on.store.processes.addEvent(event("third", { at: NOW + 1, process: "worker-b" }));
      const found = async (filter: object) =>
        (await on.store.processes.events({ limit: 10, offset: 0, ...filter })).map(({ message }) => message);
      expect(await found({})).toEqual(["third", "Second %_", "first"]);
      expect(await found({ limit: 1, offset: 1 })).toEqual(["Second %_"]);
      expect([await found({ from: NOW + 1 }), await found({ until: NOW + 1 })]).toEqual([["third", "Second %_"], ["first"]]);
      expect([await found({ environmentIds: ["env_2", ""] }), await found({ environmentIds: [] })]).toEqual([["Second %_"], []]);
      expect([await found({ processes: ["worker-b"] }), await found({ message: "SECOND %" })]).toEqual([["third"], ["Second %_"]]);
      expect(await found({ message: "%" })).toEqual(["Second %_"]);
    });

    test("what ended before a time is removed, and use stays", async () => {
      await on.store.processes.begin(record("old", { endedAt: NOW - 1, outcome: "stopped" }));
      await on.store.processes.begin(record("runs", { startedAt: 1 }));
      await on.store.processes.addEvent(event("old", { at: NOW - 1 }));
      await on.store.processes.addEvent(event("new"));
      expect(await on.store.processes.purge(NOW)).toBe(2);
      expect((await on.store.processes.between(0, NOW * 2, 10)).map(({ id }) => id)).toEqual(["runs"]);
      expect((await on.store.processes.events({ limit: 9, offset: 0 })).map(({ message }) => message)).toEqual(["new"]);
    });
  });
}
