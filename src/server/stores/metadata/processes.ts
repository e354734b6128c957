/**
 * Processes of the platform: what ran, when, on which node, and what it used; and the journal of
 * what happened to them. Times are epoch milliseconds of the node that wrote them.
 */

import type { UsageRecord } from "./usage.ts";

/** The role of a process. */
export type ProcessKind = "server" | "worker" | "task" | "evaluation" | "kernel" | "shell";

/** A process, running or ended. */
export interface ProcessRecord {
  readonly id: string;
  /** Unique among those that run, for example `worker-dpl_0198-1`. */
  readonly name: string;
  readonly kind: ProcessKind;
  /** Id of the node that started it. */
  readonly node: string;
  /** Name of the node's machine. */
  readonly host: string;
  readonly pid: number;
  /** Empty when it belongs to no environment. */
  readonly environmentId: string;
  /** Empty when it belongs to no deployment. */
  readonly deploymentId: string;
  readonly resourceGroup: string;
  /** Processes that had the same place before and ended by a crash. */
  readonly restarts: number;
  /** Cap on its memory in bytes; undefined = none. */
  readonly memoryLimitBytes: number | undefined;
  readonly startedAt: number;
  /** When it could do its work; undefined = not yet. */
  readonly readyAt: number | undefined;
  /** Undefined while it runs. */
  readonly endedAt: number | undefined;
  /** How it ended: `stopped`, `crashed`, or `lost` when its node ended without saying. */
  readonly outcome: "" | "stopped" | "crashed" | "lost";
  /** When the next three were measured. */
  readonly measuredAt: number;
  /** Processor time of it and its children since it began. */
  readonly cpuMs: number;
  /** Memory that it holds. */
  readonly memoryBytes: number;
  /** The most that it held. */
  readonly peakMemoryBytes: number;
}

/** A change of a running process, with what it used since the measure before. */
export interface ProcessMeasure {
  readonly id: string;
  readonly change: Partial<ProcessRecord>;
  /** Use by day; a period over midnight has two. */
  readonly used: readonly UsageRecord[];
}

/** An event in the life of a process. */
export interface ProcessEvent {
  readonly at: number;
  readonly type: "Normal" | "Warning";
  /** One word, for example `Started`. */
  readonly reason: string;
  readonly environmentId: string;
  /** The process's name. */
  readonly process: string;
  readonly message: string;
}

/** Processes and their journal. */
export interface ProcessStore {
  /** Stores a process that began. */
  begin(process: ProcessRecord): Promise<void>;
  /** Applies measures and adds what they say was used, all or none. */
  measure(measures: readonly ProcessMeasure[]): Promise<void>;
  /**
   * Ends the processes that a node left without saying, at the time of their last measure; returns
   * their number.
   */
  endLost(node: string): Promise<number>;
  /** Processes that run, by name. */
  running(): Promise<ProcessRecord[]>;
  /** Processes that ran at some time in the period, newest first; the end is exclusive. */
  between(from: number, until: number, limit: number): Promise<ProcessRecord[]>;
  addEvent(event: ProcessEvent): Promise<void>;
  /** Events of the period, newest first; what is absent does not limit. */
  events(filter: {
    readonly from?: number;
    readonly until?: number;
    readonly environmentIds?: readonly string[];
    readonly processes?: readonly string[];
    /** Part of the message, in any case. */
    readonly message?: string;
    readonly limit: number;
    readonly offset: number;
  }): Promise<ProcessEvent[]>;
  /** Removes processes and events that ended before a time; returns their number. */
  purge(before: number): Promise<number>;
}
