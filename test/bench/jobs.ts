/** The queue of jobs: what a job costs in a short queue, and in one of a hundred thousand. */

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createMemoryBus } from "../../src/server/jobs/bus.ts";
import { createJobQueue } from "../../src/server/jobs/queue.ts";
import type { NewJob } from "../../src/server/stores/metadata/jobs.ts";
import { createSqliteMetadataStore } from "../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../src/server/stores/metadata/store.ts";
import { TestClock } from "../harness/running-server.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { type Line, median } from "./figures.ts";

const SIZES = [100, 1_000, 10_000, 100_000];
/** Jobs that are measured at once, and that a node runs at once. */
const MEASURED = 100;
const SLOTS = 10;
const ENVIRONMENTS = 10;
/** Jobs of an operation, of which a gate lets through some. */
const PARTS = 100;
const GATE = 4;
const NODE = "node";
const KINDS = ["shard", "delivery", "run", "later"] as const;
const ALL = { environmentIds: undefined };
const PAGE = { kinds: [], environmentId: undefined, before: undefined, offset: 0, limit: 100 };

/** One of many jobs of all sorts: parts of gated operations, those of full groups, free and delayed ones. */
function job(number: number): NewJob {
  const scope = `env_${number % ENVIRONMENTS}`;
  const sorts: readonly Partial<NewJob>[] = [
    { kind: "shard", operationId: `op_${Math.floor(number / 4 / PARTS)}`, gate: GATE },
    { kind: "delivery", scope: `${scope}/whk_${number % 7}` },
    { kind: "run", group: { name: scope, slots: 2 } },
    { kind: "later", delayMs: 86_400_000 + number },
  ];
  return { id: `job_${number}`, kind: "", payload: { number }, scope, maxAttempts: 3, attemptTimeoutMs: 60_000, ...sorts[number % 4] };
}

/** What is done to a queue, `MEASURED` times. Numbers from `next` are free. */
type Deed = (store: MetadataStore, next: number) => Promise<unknown>;

const numbered = (next: number): NewJob[] => Array.from({ length: MEASURED }, (_, at) => job(next + at));
const shown = ({ jobs }: MetadataStore) => createJobQueue({ jobs, kinds: KINDS, bus: createMemoryBus(), clock: new TestClock() });
const again = async (work: () => Promise<unknown>): Promise<void> => {
  for (let time = 0; time < MEASURED; time++) await work();
};

const DEEDS: Readonly<Record<string, Deed>> = {
  enqueue: ({ jobs }, next) => Promise.all(numbered(next).map((one) => jobs.enqueue(one))),
  "claim, heartbeat and end": async ({ jobs }) => {
    for (let ended = 0; ended < MEASURED; ended += SLOTS) {
      const claimed = await jobs.claim({ node: NODE, kinds: KINDS, limit: SLOTS, leaseMs: 60_000 });
      if (claimed.length < SLOTS) throw new Error(`${claimed.length} jobs were due`);
      await Promise.all(claimed.map(({ lease }) => jobs.heartbeat(lease, 60_000, "half")));
      await Promise.all(claimed.map(({ lease }) => jobs.succeed(lease)));
      await jobs.nextDueIn(NODE, KINDS);
    }
  },
  "a page of the list, 100 jobs": (store) => again(() => shown(store).list(ALL, { ...PAGE, states: [] })),
  "a page of those that are due": (store) => again(() => shown(store).list(ALL, { ...PAGE, states: ["scheduled"] })),
  "a page of those that wait": (store) => again(() => shown(store).list(ALL, { ...PAGE, states: ["not_ready"] })),
  "a page of one environment": (store) => again(() => shown(store).list(ALL, { ...PAGE, states: [], environmentId: "env_3" })),
  "the deliveries of an environment": ({ jobs }) => again(() => jobs.list({ kind: "delivery", scope: "env_3", limit: 100 })),
  "fail and retry": async ({ jobs }) => {
    for (let failed = 0; failed < MEASURED; failed += SLOTS) {
      const claimed = await jobs.claim({ node: NODE, kinds: ["delivery"], limit: SLOTS, leaseMs: 60_000 });
      await Promise.all(claimed.map(({ lease }) => jobs.fail(lease, "broken")));
      await Promise.all(claimed.map(({ lease }) => jobs.retry(lease.id, 3, Number.MAX_SAFE_INTEGER)));
    }
  },
  purge: ({ jobs }) => again(() => jobs.purge(86_400_000, 100)),
};

/**
 * Microseconds of this process's time that each deed takes per job, or per list, while so many jobs
 * wait and as many have ended.
 */
async function costs(folder: string, size: number): Promise<Readonly<Record<string, number>>> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const store = createSqliteMetadataStore({ path: join(folder, "meta.db"), programVersion: "1.0.0" });
  const found: Record<string, number> = {};
  let next = 0;
  try {
    for (; next < size; next += MEASURED) await store.jobs.enqueueAll(numbered(next));
    for (let ended = 0; ended < size; ended += MEASURED) {
      const jobs = await store.jobs.enqueueAll(numbered(next));
      await Promise.all(jobs.map(({ id }) => store.jobs.cancel(id)));
      next += MEASURED;
    }
    for (const [name, deed] of Object.entries(DEEDS)) {
      const took: number[] = [];
      for (let round = 0; round < 3; round++) {
        const before = process.cpuUsage();
        await deed(store, next);
        const { user, system } = process.cpuUsage(before);
        took.push((user + system) / MEASURED);
        next += MEASURED;
        // As many wait before each round as waited in the beginning.
        await store.jobs.enqueueAll(numbered(next));
        next += MEASURED;
      }
      found[name] = median(took);
    }
  } finally {
    await store.close();
  }
  return found;
}

/** The cost of what is done to the queue by its length, against that in the shortest. */
export async function measureJobs(sandbox: Pick<Sandbox, "work">, rounds: number): Promise<readonly Line[]> {
  const taken = SIZES.map((size) => ({ size, rounds: [] as Readonly<Record<string, number>>[] }));
  for (let round = 0; round < Math.min(rounds, 3); round++)
    for (const { size, rounds: all } of taken) all.push(await costs(join(sandbox.work, "queue"), size));
  return Object.keys(DEEDS).flatMap((name) => {
    const of = (all: readonly Readonly<Record<string, number>>[]): number => median(all.map((one) => one[name] as number));
    const anchor = of((taken[0] as (typeof taken)[number]).rounds);
    return taken.map(({ size, rounds: all }) => ({
      what: `${name}, among ${size}`,
      value: `${of(all).toFixed(0)} µs CPU`,
      ...(size === SIZES[0] ? {} : { ratio: of(all) / anchor, anchor: `among ${SIZES[0]}` }),
    }));
  });
}
