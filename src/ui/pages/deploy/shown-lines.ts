/** Lines of the log as the log view takes them. */

import type { LogLineJson } from "../../../../gen/svc/v1/log_pb.ts";
import { attributesText } from "../../../domain/log-attributes.ts";
import type { ShownLine } from "../../parts/log-rows.ts";
import { levelTone } from "../observe/log-levels.ts";

/** Lines that come newest first, oldest first. Those that are equal have keys of their own. */
export function shownLines(lines: readonly LogLineJson[]): readonly ShownLine[] {
  const seen = new Map<string, number>();
  return lines.toReversed().map((line) => {
    const text = JSON.stringify(line);
    const nth = (seen.get(text) ?? 0) + 1;
    seen.set(text, nth);
    const { attributes = {}, component = "", level = "", message = "", resolver = "", time = "" } = line;
    const source = resolver || component;
    return {
      key: `${nth} ${text}`,
      time: Date.parse(time),
      level,
      tone: levelTone(level),
      source,
      text: `${message.trimEnd()} ${attributesText(attributes)}`.trimEnd(),
    };
  });
}
