/** Searches of the log on somebody's behalf: what they may see, and what they wrote. */

import { LINE_FIELDS, REQUEST_FIELDS } from "../../domain/logs.ts";
import { Failure } from "../failure.ts";
import type { LogFilter, LogKind, LogStore, StoredRecord } from "../stores/logs/store.ts";
import { checkBounds, searchOf } from "../written-search.ts";

/** Bounds of times, microseconds. */
export interface LogTimes {
  readonly from?: number;
  readonly before?: number;
}

/** Most windows of an aggregate, and how many there are without a wish. */
const MOST_WINDOWS = 1_000;
const USUAL_WINDOWS = 60;
const LEAST_WINDOW_MS = 1_000;
/** Windows that people read easily, milliseconds. */
const ROUND_WINDOWS = [1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, 86_400].map((s) => s * 1_000);
const HOUR_MS = 3_600_000;

/** The filter of lines of an environment. Throws Failure for a search that is not understood. */
export function lineFilter(search: string, environmentId: string, isWholeTeam: boolean, times: LogTimes = {}): LogFilter {
  return { ...filterOf("line", search, times), environmentIds: isWholeTeam ? [environmentId, ""] : [environmentId] };
}

/** The filter of requests. Throws Failure for a search that is not understood. */
export function requestFilter(search: string, times: LogTimes): LogFilter {
  return { ...filterOf("request", search, times), environmentIds: [""] };
}

function filterOf(kind: LogKind, search: string, times: LogTimes): Omit<LogFilter, "environmentIds"> {
  return { kind, search: searchOf(search, kind === "line" ? LINE_FIELDS : REQUEST_FIELDS), ...checkBounds(times) };
}

/** The times and windows of an aggregate, milliseconds. Throws Failure for too many windows. */
export function windowsOf(
  wanted: { readonly start?: number | undefined; readonly end?: number | undefined; readonly windowMs?: number | undefined },
  now: number,
): { readonly start: number; readonly end: number; readonly windowMs: number } {
  const end = wanted.end ?? now;
  const start = wanted.start ?? end - HOUR_MS;
  const length = Math.max(0, end - start);
  const windowMs =
    wanted.windowMs ?? ROUND_WINDOWS.find((ms) => length / ms <= USUAL_WINDOWS) ?? Math.ceil(length / USUAL_WINDOWS / 1_000) * 1_000;
  if (windowMs < LEAST_WINDOW_MS || !Number.isInteger(windowMs))
    throw new Failure("invalid_argument", "A window is a number of whole milliseconds, and at least a second.");
  if (length / windowMs > MOST_WINDOWS)
    throw new Failure("invalid_argument", `The time range has more than ${MOST_WINDOWS} windows.`, {
      hint: "Take longer windows, or a shorter time range.",
    });
  return { start, end, windowMs };
}

/** A part of a tail. */
export interface TailPart {
  /** Oldest first. */
  readonly records: readonly StoredRecord[];
  /** Everything up to this place was looked at or skipped. */
  readonly last: number;
  /** Records that were skipped before these. */
  readonly skipped: number;
}

/** Records of one part, and those by which a tail may be behind before it skips. */
const TAIL_PART = 500;
const MOST_BEHIND = 10_000;
/** Milliseconds between parts without records. */
const HEARTBEAT_MS = 10_000;

/**
 * The records that follow a place, as they are written, until the signal is aborted. The next part
 * is made when the one before was taken: who is slow skips what is too much.
 */
export async function* tailOf(store: LogStore, filter: LogFilter, after: number, signal: AbortSignal): AsyncGenerator<TailPart> {
  let last = after;
  let wake: (() => void) | undefined;
  let isWritten = false;
  const end = store.onWritten((kinds) => {
    if (!kinds.has(filter.kind)) return;
    isWritten = true;
    wake?.();
  });
  const stop = () => wake?.();
  signal.addEventListener("abort", stop);
  try {
    yield { records: [], last, skipped: 0 };
    while (!signal.aborted) {
      isWritten = false;
      const newest = await store.newest(filter.kind);
      const skipped = Math.max(0, newest - last - MOST_BEHIND);
      const tail = await store.after(filter, last + skipped, TAIL_PART);
      last = tail.last;
      if (tail.records.length > 0 || skipped > 0) yield { ...tail, skipped };
      if (last < newest || isWritten || signal.aborted) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const heartbeat = setTimeout(resolve, HEARTBEAT_MS);
      await promise;
      clearTimeout(heartbeat);
      wake = undefined;
      if (!isWritten && !signal.aborted) yield { records: [], last, skipped: 0 };
    }
  } finally {
    signal.removeEventListener("abort", stop);
    end();
  }
}
