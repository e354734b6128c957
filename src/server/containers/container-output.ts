/** What containers print, as lines of the log under their ids. */

import type { ContainerEngine } from "../engines/container-engine.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import { lineFilter } from "../logs/searching.ts";
import type { LogStore } from "../stores/logs/store.ts";
import type { StoredContainer } from "./container-records.ts";

/** Milliseconds until a connection that broke is made again. */
const RETRY_MS = 2_000;
/** Lines of the log that are looked through for those of the newest time. */
const MOST_OF_A_TIME = 1_000;

/** How far a container's output was read. */
interface Progress {
  /** Time of the last line, in epoch microseconds; 0 = none was read. */
  from: number;
  /** Lines of that time that were read: engines may tell times by the second. */
  count: number;
}

/**
 * Hands lines to the log until there are no more, after those that the log has. Never rejects: what
 * cannot be read is read again from where it was, and what is left when the container is gone is
 * gone.
 */
export async function followOutput(options: {
  readonly engine: ContainerEngine;
  readonly engineId: string;
  readonly container: StoredContainer;
  readonly logs: LogRecorder;
  /** The log; undefined for a container that is new to it. */
  readonly recorded: Pick<LogStore, "search"> | undefined;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { container, engine, engineId, logs, recorded, signal } = options;
  let progress: Progress | undefined = recorded ? undefined : { from: 0, count: 0 };
  while (!signal.aborted)
    try {
      progress ??= await progressOf(container, recorded);
      let known = progress.count;
      for await (const { at, line, stream } of engine.output(engineId, progress.from, signal)) {
        if (at === progress.from && known-- > 0) continue;
        progress = { from: at, count: at === progress.from ? progress.count + 1 : 1 };
        logs.record({
          ...{ at, level: "info", component: "compute", message: line, logger: stream },
          ...{ environmentId: container.environmentId, operationId: container.id, podName: container.name },
        });
      }
      return;
    } catch {
      if (!signal.aborted) await Bun.sleep(RETRY_MS);
    }
}

/** How far the log has a container's output. */
async function progressOf({ environmentId, id }: StoredContainer, recorded: Pick<LogStore, "search"> | undefined): Promise<Progress> {
  const filter = lineFilter(`operation_id:${id}`, environmentId, false);
  let before: number | undefined;
  do {
    const page = await recorded?.search(filter, MOST_OF_A_TIME, before);
    const from = page?.records[0]?.at;
    if (from !== undefined) return { from, count: page?.records.filter(({ at }) => at === from).length ?? 0 };
    before = page?.next;
  } while (before !== undefined);
  return { from: 0, count: 0 };
}
