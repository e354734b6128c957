/**
 * The hand-over of records to the log store. The store is opened a while after the first record, so
 * that no start waits for it.
 */

import type { LogStore, NewRecord } from "../stores/logs/store.ts";

/** Takes records for the log store; never waits, never throws. */
export interface LogRecorder {
  record(record: NewRecord): void;
}

/** Records that wait for the store to be opened, at most; the rest is dropped. */
const MOST_WAITING = 10_000;
/** Milliseconds from the first record until the store is opened. */
const OPEN_AFTER_MS = 250;

/** A recorder that has to be closed before its store. */
export interface OpenRecorder extends LogRecorder {
  /** Hands over what still waits. */
  close(): Promise<void>;
}

/** Makes a recorder of a store that is opened when there is something to record. */
export function createLogRecorder(open: () => Promise<LogStore>): OpenRecorder {
  let store: LogStore | undefined;
  let waiting: NewRecord[] = [];
  let opening: ReturnType<typeof setTimeout> | undefined;

  const handOver = async (): Promise<void> => {
    clearTimeout(opening);
    try {
      store = await open();
      for (const record of waiting.splice(0)) store.record(record);
    } catch {
      // Whoever opens the store for a read hears why; the next record tries again.
      opening = undefined;
    }
  };

  return {
    record(record) {
      if (store) return store.record(record);
      if (waiting.length < MOST_WAITING) waiting.push(record);
      opening ??= setTimeout(handOver, OPEN_AFTER_MS);
    },
    async close() {
      if (waiting.length > 0) await handOver();
      clearTimeout(opening);
      waiting = [];
    },
  };
}
