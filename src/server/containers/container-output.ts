/** What containers print, as lines of the log under their ids. */

import type { ContainerEngine } from "../engines/container-engine.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { StoredContainer } from "./container-records.ts";

/** Milliseconds until a connection that broke is made again. */
const RETRY_MS = 2_000;

/**
 * Hands lines to the log until there are no more. Never rejects: what cannot be read is read again
 * from where it was, and what is left when the container is gone is gone.
 */
export async function followOutput(options: {
  readonly engine: ContainerEngine;
  readonly engineId: string;
  readonly container: StoredContainer;
  readonly logs: LogRecorder;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { container, engine, engineId, logs, signal } = options;
  let after = 0;
  while (!signal.aborted)
    try {
      for await (const { at, line, stream } of engine.output(engineId, after, signal)) {
        after = at;
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
