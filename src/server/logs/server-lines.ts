/** The server's own log as records, beside where it is written. */

import type { Log, LogFields, LogLevel } from "../log.ts";
import type { LogRecorder } from "./recorder.ts";

/** What is recorded otherwise: requests are records of the gateway. */
const REQUEST = "request";
/** Beginning of lines about the log store itself, which would make others when they fail. */
const OWN = "lines of the log ";
/** Fields of lines that are fields of records too. */
const IDS = { deployment: "deploymentId", queryId: "operationId", branch: "branch" } as const;

/**
 * A log that also hands its lines to a recorder. They are about the whole server: who may see one
 * environment alone does not see them.
 */
export function recordedLog(log: Log, recorder: LogRecorder, now: () => number): Log {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    log[level](message, fields);
    if (!log.enabled(level) || message === REQUEST || message.startsWith(OWN)) return;
    const attributes: Record<string, string | number> = {};
    const ids: Partial<Record<(typeof IDS)[keyof typeof IDS], string>> = {};
    for (const [name, value] of Object.entries(fields ?? {})) {
      if (value === undefined || value === null) continue;
      if (Object.hasOwn(IDS, name)) ids[IDS[name as keyof typeof IDS]] = String(value);
      else attributes[name] = typeof value === "boolean" ? String(value) : value;
    }
    recorder.record({ at: now() * 1_000, level, component: "server", message, attributes, ...ids });
  };
  return { debug: at("debug"), info: at("info"), warning: at("warning"), error: at("error"), enabled: log.enabled };
}
