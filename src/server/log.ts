/**
 * The server's log: one JSON object a line, `{"time", "level", "message", ...fields}`. Secrets are
 * never passed to it.
 */

import type { Clock } from "../context/clock.ts";

/** Facts beside a message; undefined ones are left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Log levels of the server. */
export type LogLevel = "debug" | "info" | "warning" | "error";

/** Writes lines at or above the level that it was made with. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warning(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Whether lines of this level are written, for callers whose fields cost something to make. */
  enabled(level: LogLevel): boolean;
}

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warning: 2, error: 3 };

/** Makes a log that hands lines to `write`. Default level: info. */
export function createLog(options: {
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, "now">;
  readonly level?: LogLevel;
}): Log {
  const floor = RANK[options.level ?? "info"];
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (RANK[level] < floor) return;
    options.write(JSON.stringify({ time: new Date(options.clock.now()).toISOString(), level, message, ...fields }));
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warning: at("warning"),
    error: at("error"),
    enabled: (level) => RANK[level] >= floor,
  };
}
