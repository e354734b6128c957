/** A line of output that begins with its time. */

import type { EngineOutput } from "./container-engine.ts";

/** A line that begins with its time, as engines write it. */
export function stamped(stream: EngineOutput["stream"], text: string): EngineOutput | undefined {
  const [, seconds = "", digits = "", zone = "", line = ""] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d) ?(.*)$/s.exec(text) ?? [];
  if (seconds === "") return undefined;
  return { stream, at: Date.parse(`${seconds}${zone}`) * 1000 + Number(digits.padEnd(6, "0").slice(0, 6)), line };
}
