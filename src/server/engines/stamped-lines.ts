/** Lines of output that begin with their times, as engines write them. */

import type { EngineOutput } from "./container-engine.ts";

/** Longest line of output. */
const MAX_LINE = 16_384;

/** A line that begins with its time, as engines write it. */
export function stamped(stream: EngineOutput["stream"], text: string): EngineOutput | undefined {
  const [, seconds = "", digits = "", zone = "", line = ""] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d) ?(.*)$/s.exec(text) ?? [];
  if (seconds === "") return undefined;
  return { stream, at: Date.parse(`${seconds}${zone}`) * 1000 + Number(digits.padEnd(6, "0").slice(0, 6)), line };
}

/** Text that comes in pieces, by lines of a bounded length; what is longer is cut. */
export function openLine() {
  const decoder = new TextDecoder();
  let begun = "";
  return {
    *read(bytes: Uint8Array): Iterable<string> {
      const [first = "", ...others] = decoder.decode(bytes, { stream: true }).split("\n");
      begun += first.slice(0, MAX_LINE - begun.length);
      for (const next of others) {
        yield begun.replace(/\r$/, "");
        begun = next.slice(0, MAX_LINE);
      }
    },
    rest: (): string => begun,
  };
}
