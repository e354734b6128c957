/** Benchmarks as they are stored: documents of their environment, by their id as a name. */

import { type Collection, type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import type { BenchmarkPlan } from "./benchmark-plan.ts";
import type { BenchmarkFigures } from "./result-file.ts";

/** The state of a benchmark; `succeeded`, `failed` and `cancelled` are final. */
export type BenchmarkState = "waiting" | "running" | "succeeded" | "failed" | "cancelled";

/** Results of a benchmark. */
export interface BenchmarkResult extends BenchmarkFigures {
  /** Of the server process that ran it, with the warm-up. */
  readonly serverCpuMs: number;
  /** Revision of the dataset of results. */
  readonly revisionId: string;
}

/** What is stored of a benchmark. Times are epoch milliseconds. */
export interface BenchmarkRecord {
  readonly plan: BenchmarkPlan;
  /** Names of the features whose values the request gave. */
  readonly inputNames: readonly string[];
  /** Empty without an input file. */
  readonly inputRevisionId: string;
  readonly environmentName: string;
  /** Empty = the environment's own. */
  readonly branch: string;
  readonly deploymentId: string;
  /** Whether queries name that deployment; else they go to what is live. */
  readonly isNamed: boolean;
  readonly warnings: readonly string[];
  readonly state: BenchmarkState;
  readonly progress: string;
  readonly error: string;
  readonly result?: BenchmarkResult;
  readonly startedAt?: number;
  readonly endedAt?: number;
}

/** A benchmark with its id. */
export interface Benchmark extends BenchmarkRecord {
  readonly id: string;
  readonly environmentId: string;
  readonly createdAt: number;
}

/** Most benchmarks of an environment: the oldest one that has ended makes room. */
const MOST_KEPT = 200;

/** The benchmarks of a server. */
export interface BenchmarkRecords {
  /** Newest first. */
  list(environmentId: string): Promise<Benchmark[]>;
  /** Rejects with Failure not_found. */
  get(environmentId: string, id: string): Promise<Benchmark>;
  /** Stores one unless there is one of its id, and returns it as it is stored. */
  put(environmentId: string, id: string, record: BenchmarkRecord): Promise<Benchmark>;
  /**
   * Changes one that has not ended; returns what is stored, which is unchanged when it had ended.
   */
  change(environmentId: string, id: string, change: Partial<BenchmarkRecord>): Promise<Benchmark>;
}

/** Whether a benchmark has ended. */
export function hasEnded({ state }: Pick<BenchmarkRecord, "state">): boolean {
  return state !== "waiting" && state !== "running";
}

/** Makes the records. */
export function createBenchmarkRecords(parts: CollectionParts): BenchmarkRecords {
  const records: Collection<BenchmarkRecord> = createCollection(parts, {
    kind: "benchmark",
    noun: "benchmark",
    idPrefix: "bmr",
    listedBy: "svc benchmark list",
    maxPerScope: MOST_KEPT + 50,
  });
  const shown = ({ name, scope, createdAt, content }: Document<BenchmarkRecord>): Benchmark => ({
    ...content,
    ...{ id: name, environmentId: scope, createdAt },
  });
  const list = async (environmentId: string): Promise<Benchmark[]> =>
    (await records.list(environmentId)).map(shown).sort((a, b) => (a.id < b.id ? 1 : -1));
  const get = async (environmentId: string, id: string): Promise<Benchmark> => shown(await records.get(environmentId, id));

  return {
    list,
    get,
    async put(environmentId, id, record) {
      for (const old of (await list(environmentId)).filter(hasEnded).slice(MOST_KEPT - 1)) await records.delete(environmentId, old.id);
      try {
        return shown(await records.create(environmentId, id, record));
      } catch (error) {
        if (error instanceof Failure && error.kind === "already_exists") return get(environmentId, id);
        throw error;
      }
    },
    async change(environmentId, id, change) {
      return shown(
        await records.update(environmentId, id, ({ content }) => ({ content: hasEnded(content) ? content : { ...content, ...change } })),
      );
    },
  };
}
