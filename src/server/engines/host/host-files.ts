/**
 * What is kept of a program of this machine, in a folder of its own: what was asked for, written
 * once; how it is, written by its supervisor; its output. The values of its variables are in none
 * of these files.
 */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makePrivateFolder, readPrivateFile, writePrivateFile } from "../../../disk/private-file.ts";
import type { ProcessIdentity } from "./process-table.ts";

/** What was asked for. */
export interface HostOrder {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  /** Where it runs. */
  readonly folder: string;
  /** Port that it was given; undefined = none. */
  readonly port?: number;
}

/** How a program is. Times are epoch milliseconds. */
export interface HostState {
  readonly supervisor: ProcessIdentity;
  /** Undefined when it ended before anybody could look. */
  readonly program: ProcessIdentity | undefined;
  readonly startedAt: number;
  /** Once it has ended. */
  readonly exitCode?: number;
  readonly endedAt?: number;
  /** Why nobody knows its exit code. */
  readonly error?: string;
}

const ORDER = "order.json";
const STATE = "state.json";
const ID = /^host_[0-9a-f]{32}$/;

/** Whether an id is one of a program of this machine. */
export function isHostId(id: string): boolean {
  return ID.test(id);
}

/** The folder in which a program runs that was given none, below its own. */
export function ownWorkFolder(folder: string): string {
  return join(folder, "work");
}

/** Writes what was asked for, in a new folder. Throws DiskError. */
export function writeOrder(folder: string, order: HostOrder): void {
  makePrivateFolder(ownWorkFolder(folder));
  writePrivateFile(join(folder, ORDER), JSON.stringify(order));
}

/** What was asked for; undefined when there is no such program. */
export function readOrder(folder: string): HostOrder | undefined {
  return readJson<HostOrder>(join(folder, ORDER));
}

/** Writes how it is. Throws DiskError. */
export function writeState(folder: string, state: HostState): void {
  writePrivateFile(join(folder, STATE), JSON.stringify(state));
}

/** How it is; undefined before it was started. */
export function readState(folder: string): HostState | undefined {
  return readJson<HostState>(join(folder, STATE));
}

/** Ids of all programs below a folder. */
export async function hostIds(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).filter(isHostId);
}

/** Removes everything of a program. */
export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

/** Undefined for a file that is not there, or that its program has made unreadable. */
function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readPrivateFile(path, { followLinks: false }) ?? "") as T;
  } catch {
    return undefined;
  }
}
