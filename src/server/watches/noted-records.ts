/**
 * Notes of records that people look at as they come: queries, spans, errors and lines. They come
 * too fast for a note each, so those of a moment are noted together.
 */

import type { Bus } from "../jobs/bus.ts";
import { type ChangeTopic, noteChange } from "../jobs/changes.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";

/** Notes of changes, gathered. */
export interface GatheredNotes {
  note(topic: ChangeTopic, environmentId: string): void;
  /** Notes nothing more. */
  close(): void;
}

/** Milliseconds that a note waits for others. */
const GATHER_MS = 100;

/** Makes a gatherer of notes. */
export function gatherNotes(bus: Bus): GatheredNotes {
  const waiting = new Map<ChangeTopic, Set<string>>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tell = (): void => {
    timer = undefined;
    for (const [topic, environments] of waiting) {
      for (const environmentId of environments) noteChange(bus, topic, environmentId);
      environments.clear();
    }
  };
  return {
    note(topic, environmentId) {
      const environments = waiting.get(topic) ?? new Set();
      waiting.set(topic, environments);
      if (environments.has(environmentId)) return;
      environments.add(environmentId);
      timer ??= setTimeout(tell, GATHER_MS).unref();
    },
    close: () => clearTimeout(timer),
  };
}

/**
 * A telemetry store whose records are noted at once: its reads first hand over what waits to be
 * written.
 */
export function notedTelemetry(store: TelemetryStore, { note }: GatheredNotes): TelemetryStore {
  return {
    ...store,
    recordQuery(entry) {
      store.recordQuery(entry);
      note("queries", entry.environmentId);
    },
    recordSpans(spans) {
      store.recordSpans(spans);
      for (const { environmentId } of spans) note("queries", environmentId);
    },
    recordErrors(errors) {
      store.recordErrors(errors);
      for (const { environmentId } of errors) note("queries", environmentId);
    },
  };
}

/** A recorder of lines that notes them. Requests are the server's, and nobody's environment. */
export function notedLines(recorder: LogRecorder, { note }: GatheredNotes): LogRecorder {
  return {
    record(record) {
      recorder.record(record);
      if (record.environmentId) note("logs", record.environmentId);
    },
  };
}
