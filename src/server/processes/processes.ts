/**
 * The processes of this node: the server itself and what it starts. Each is written down with its
 * beginning and end, and measured while it runs; the metadata store has those of all nodes.
 */

import { hostname } from "node:os";
import type { Clock } from "../../context/clock.ts";
import { daysBetween } from "../../domain/day.ts";
import { within } from "../../python/subprocess.ts";
import { newId } from "../identifier.ts";
import type { Log } from "../log.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import type { ProcessEvent, ProcessMeasure, ProcessRecord, ProcessStore } from "../stores/metadata/processes.ts";
import { NO_USE, type UsageRecord } from "../stores/metadata/usage.ts";
import { type GroupUse, type Measured, readGroupUse } from "./group-use.ts";

/** Milliseconds between two measures of running processes. */
const MEASURE_MS = 60_000;
/** Processes in containers whose use is asked for at once, and the longest wait for all answers. */
const ASKED_AT_ONCE = 8;
const MOST_ASKING_MS = 5_000;
/** Longest message of an event, in characters. */
const MAX_MESSAGE = 1_000;

/** What a process is, when it begins. */
export interface NewProcess
  extends Pick<ProcessRecord, "kind" | "pid" | "environmentId" | "deploymentId" | "resourceGroup" | "memoryLimitBytes"> {
  /** The tag by which metrics name its deployment; empty or absent = the deployment's id. */
  readonly tag?: string;
  /** What it uses, where its process id does not tell; undefined = nobody knows. */
  readonly use?: (() => Promise<GroupUse | undefined>) | undefined;
}

/** The end of a process. */
export interface ProcessEnd {
  /** Whether it was meant to end. */
  readonly isExpected: boolean;
  /** For people, for example "exited with code 3". */
  readonly how: string;
  /** Processor time of the process and its children in milliseconds; undefined when unknown. */
  readonly cpuMs?: number | undefined;
}

/** A running process, as the part that started it reports on it. */
export interface ProcessReports {
  /** Its name, as `svc pods` shows it. */
  readonly name: string;
  /** Says that it can do its work. */
  ready(): void;
  /** Says that it has ended. */
  ended(end: ProcessEnd): void;
}

/** The processes of this node. */
export interface Processes {
  /** Writes a process down. Never throws: what cannot be written is logged. */
  began(process: NewProcess): ProcessReports;
  /** Measures all that run, now. */
  measure(): Promise<void>;
  /** Measures a last time and ends what still runs. */
  close(): Promise<void>;
}

interface Entry extends Pick<NewProcess, "use"> {
  record: ProcessRecord;
  /** Tag or id of its deployment. */
  readonly deployment: string;
  /** Number of its place among those of its owner, from 1. */
  readonly slot: number;
}

/** Makes the processes of a node, of which the server itself is the first. */
export function createProcesses(options: {
  readonly store: ProcessStore;
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the workers are recorded; absent = they are not. */
  readonly metrics?: MetricRecorder;
  /** Use of processes by their ids; default: that of `/proc`. */
  readonly readUse?: (measured: readonly Measured[]) => ReadonlyMap<number, GroupUse>;
}): Processes {
  const { store, node, clock, log, metrics, readUse = readGroupUse } = options;
  const host = hostname();
  const running = new Map<string, Entry>();
  /** Crashes by place, until the deployment has no process any more. */
  const crashes = new Map<string, number>();
  const stopping = new AbortController();
  /** The writes, one after the other, so that a process is stored before what happens to it. */
  let written: Promise<unknown> = store
    .endLost(node)
    .catch((error: unknown) => log.warning("processes of an earlier start could not be ended", { error: String(error) }));

  const write = (work: () => Promise<unknown>): Promise<void> => {
    const done = written.then(work).then(
      () => undefined,
      (error: unknown) => log.warning("a process could not be written down", { error: String(error) }),
    );
    written = done;
    return done;
  };
  const ownerOf = ({ kind, deploymentId }: NewProcess): string => (kind === "server" ? node : deploymentId);
  const event = (record: ProcessRecord, type: ProcessEvent["type"], reason: string, message: string): ProcessEvent => ({
    ...{ at: clock.now(), type, reason, environmentId: record.environmentId, process: record.name },
    message: message.slice(0, MAX_MESSAGE),
  });
  const note = (entry: Entry, change: Partial<ProcessRecord>, said: ProcessEvent, used: readonly UsageRecord[] = []): void => {
    entry.record = { ...entry.record, ...change };
    void write(async () => {
      await store.measure([{ id: entry.record.id, change, used }]);
      await store.addEvent(said);
    });
  };
  /** A measure of a process: its new figures, and what it used since the last. */
  const measured = ({ record }: Entry, use: GroupUse | undefined, cpuMs?: number): ProcessMeasure => {
    const now = Math.max(clock.now(), record.measuredAt);
    const totalMs = Math.max(record.cpuMs, Math.round(cpuMs ?? use?.cpuMs ?? record.cpuMs));
    const memoryBytes = use?.memoryBytes ?? record.memoryBytes;
    return {
      id: record.id,
      change: { measuredAt: now, cpuMs: totalMs, memoryBytes, peakMemoryBytes: Math.max(record.peakMemoryBytes, memoryBytes) },
      used: usedBetween(record, now, totalMs - record.cpuMs, memoryBytes),
    };
  };

  const isWorker = ({ record }: Entry): boolean => record.kind === "worker";
  /** Records what workers used since their last measure; those that were not measured have none. */
  const recordWorkers = (entries: readonly Entry[], measures: readonly ProcessMeasure[]): void => {
    const memory = new Map<string, { environmentId: string; deployment: string; bytes: number }>();
    for (const [at, entry] of entries.entries()) {
      const { deployment } = entry;
      const { environmentId, cpuMs: before } = entry.record;
      const { cpuMs = before, memoryBytes = 0 } = measures[at]?.change ?? {};
      if (!isWorker(entry) || memoryBytes === 0) continue;
      metrics?.counter("worker.cpu", environmentId, { deployment }).add((cpuMs - before) / 1000);
      const key = `${environmentId} ${deployment}`;
      memory.set(key, { environmentId, deployment, bytes: memoryBytes + (memory.get(key)?.bytes ?? 0) });
    }
    for (const { environmentId, deployment, bytes } of memory.values())
      metrics?.gauge("worker.memory", environmentId, { deployment }).set(bytes);
  };
  metrics?.sample(() => {
    const states = Map.groupBy([...running.values()].filter(isWorker), ({ deployment, record }) =>
      [record.environmentId, deployment, record.readyAt === undefined ? "starting" : "ready"].join("\0"),
    );
    for (const [key, entries] of states) {
      const [environmentId = "", deployment = "", state = ""] = key.split("\0");
      metrics.gauge("worker.count", environmentId, { deployment, state }).set(entries.length);
    }
  });

  const measure = async (): Promise<void> => {
    const asked = await askUses([...running.values()]);
    const entries = [...running.values()];
    const here = entries.map(({ record }) => record).filter(isHere);
    const uses = readUse(here.map(({ kind, pid }) => ({ pid, withChildren: kind !== "server" })));
    const measures = entries.map((entry) => measured(entry, isHere(entry.record) ? uses.get(entry.record.pid) : asked.get(entry)));
    recordWorkers(entries, measures);
    for (const [at, entry] of entries.entries()) entry.record = { ...entry.record, ...measures[at]?.change };
    await write(() => store.measure(measures));
  };
  const measuring = (async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(MEASURE_MS, stopping.signal).catch(() => undefined);
      if (!stopping.signal.aborted) await measure();
    }
  })();

  const end = (entry: Entry, { cpuMs, how, isExpected }: ProcessEnd): void => {
    if (!running.delete(entry.record.id)) return;
    if (isWorker(entry) && cpuMs !== undefined && cpuMs > entry.record.cpuMs)
      metrics?.counter("worker.cpu", entry.record.environmentId, { deployment: entry.deployment }).add((cpuMs - entry.record.cpuMs) / 1000);
    const { change, used } = measured(entry, undefined, cpuMs);
    const place = `${ownerOf(entry.record)}/${entry.slot}`;
    if (isExpected) crashes.delete(place);
    else crashes.set(place, entry.record.restarts + 1);
    const outcome = isExpected ? "stopped" : "crashed";
    const said = isExpected
      ? event(entry.record, "Normal", "Stopped", `It ${how}.`)
      : event(entry.record, "Warning", "Crashed", `It ${how}.`);
    note(entry, { ...change, endedAt: clock.now(), outcome, memoryBytes: 0 }, said, used);
  };

  return {
    began({ tag = "", use, ...process }) {
      const owner = ownerOf(process);
      const taken = new Set([...running.values()].filter(({ record }) => ownerOf(record) === owner).map(({ slot }) => slot));
      let slot = 1;
      while (taken.has(slot)) slot++;
      const now = clock.now();
      const record: ProcessRecord = {
        ...process,
        ...{ id: newId("prc", now), name: `${process.kind}-${owner}-${slot}`, node, host, startedAt: now, measuredAt: now },
        ...{ readyAt: undefined, endedAt: undefined, outcome: "", cpuMs: 0, memoryBytes: 0, peakMemoryBytes: 0 },
        restarts: crashes.get(`${owner}/${slot}`) ?? 0,
      };
      const entry: Entry = { record, slot, deployment: tag || process.deploymentId, use };
      running.set(record.id, entry);
      const started = event(
        record,
        "Normal",
        "Started",
        process.pid === 0 ? `It was started in a container of ${host}.` : `It was started as process ${process.pid} of ${host}.`,
      );
      void write(async () => {
        await store.begin(record);
        await store.addEvent(started);
      });
      return {
        name: record.name,
        ready: () => note(entry, { readyAt: clock.now() }, event(record, "Normal", "Ready", "It can do its work.")),
        ended: (how) => end(entry, how),
      };
    },
    measure,
    async close() {
      stopping.abort();
      await measuring;
      await measure();
      for (const entry of [...running.values()]) end(entry, { isExpected: true, how: "ended with the server", cpuMs: entry.record.cpuMs });
      await written;
    },
  };
}

/** Whether its process id tells what it uses. */
const isHere = ({ pid }: Pick<ProcessRecord, "pid">): boolean => pid !== 0;

/** What those use whose process ids do not tell; those that nobody knows of in time are absent. */
async function askUses(entries: readonly Entry[]): Promise<ReadonlyMap<Entry, GroupUse>> {
  const told = new Map<Entry, GroupUse>();
  const asked = entries.filter(({ use }) => use !== undefined);
  const ask = async (entry: Entry): Promise<void> => {
    const used = await entry.use?.();
    if (used) told.set(entry, used);
  };
  const askAll = async (): Promise<void> => {
    for (let at = 0; at < asked.length; at += ASKED_AT_ONCE) await Promise.allSettled(asked.slice(at, at + ASKED_AT_ONCE).map(ask));
  };
  await within(MOST_ASKING_MS, askAll());
  return told;
}

/** What a process used from its last measure until now, by day (UTC), in proportion to the time. */
export function usedBetween(record: ProcessRecord, now: number, cpuMs: number, memoryBytes: number): UsageRecord[] {
  const { measuredAt, environmentId, resourceGroup, kind } = record;
  return daysBetween(measuredAt, now).map(({ day, ms }) => ({
    ...{ ...NO_USE, day, environmentId, resourceGroup, kind },
    ...{ cpuMs: Math.round((cpuMs * ms) / (now - measuredAt)), wallMs: ms, memoryByteMs: memoryBytes * ms },
  }));
}
