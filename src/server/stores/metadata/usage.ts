/** Use of the platform by day (UTC): what processes, queries and stored bytes took. */

import type { ProcessKind } from "./processes.ts";

/** What queries are for: one row, or many. */
export type QueryKind = "query" | "bulk_query";

/** What keeps bytes. */
export type StorageKind = "online_store" | "offline_store" | "object_store" | "query_log";

/** What used something. */
export type UsageKind = ProcessKind | QueryKind | StorageKind;

/** What was used on one day by one kind of one environment. */
export interface UsageRecord {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** Empty = the server's own. */
  readonly environmentId: string;
  readonly resourceGroup: string;
  readonly kind: UsageKind;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Memory over time: bytes times milliseconds. */
  readonly memoryByteMs: number;
  readonly queries: number;
  /** Rows that queries asked for and that were answered. */
  readonly rows: number;
  /** Queries that were refused, failed, or have errors in their answers. */
  readonly errors: number;
  /** Stored bytes over time: bytes times milliseconds. */
  readonly storageByteMs: number;
}

/** Resource group of what was given none. */
export const DEFAULT_RESOURCE_GROUP = "default";

/** The figures of a record. */
export type UsageFigures = Omit<UsageRecord, "day" | "environmentId" | "resourceGroup" | "kind">;

/** Nothing used. */
export const NO_USE: UsageFigures = {
  ...{ cpuMs: 0, wallMs: 0, memoryByteMs: 0 },
  ...{ queries: 0, rows: 0, errors: 0 },
  storageByteMs: 0,
};

/** Bytes that are stored for an environment. */
export interface HeldBytes extends Pick<UsageRecord, "environmentId" | "resourceGroup"> {
  readonly kind: StorageKind;
  readonly bytes: number;
}

/** Use by day. */
export interface UsageStore {
  /**
   * Adds use to what is known of its day, environment, group and kind, all or none: when it
   * rejects, nothing was added.
   */
  add(used: readonly UsageRecord[]): Promise<void>;
  /**
   * Adds the use of bytes that a place has held since this was last called for the place, by any
   * node and by the store's clock; of a longer time than `longestMs` only the last part counts, and
   * of the first call none. So no time counts twice.
   */
  hold(place: string, held: readonly HeldBytes[], longestMs: number): Promise<void>;
  /** Use from a day to another, both inclusive; by day, environment, group and kind. */
  between(from: string, until: string): Promise<UsageRecord[]>;
}
