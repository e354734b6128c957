/** What the server keeps how long, as the spec of its metrics component says it. */

import type { JsonObject } from "../../../domain/json-value.ts";
import { quantityValue } from "../../../domain/quantity.ts";
import { sizeText } from "../../../domain/size.ts";
import { numberOf, objectOf, specOf, textOf } from "./spec-value.ts";

/** Records of one kind: their bounds, and what they take now. */
export interface KeptRecords {
  readonly what: string;
  /** Age above which they are removed, such as `14d`. */
  readonly age: string;
  /** Size above which the oldest are removed, as a setting is written: `2Gi`. */
  readonly size: string;
  /** Bytes that they take now; undefined when it is not told. */
  readonly bytes: number | undefined;
  /** Keys of the spec that set the bounds. */
  readonly settings: readonly [age: string, size: string];
}

const KINDS: readonly (readonly [what: string, prefix: string, place: readonly string[]])[] = [
  ["Query log", "", []],
  ["Spans", "trace_", ["traces"]],
  ["Logs", "log_", ["logs"]],
  ["Metrics", "metric_", ["metrics_store"]],
];

/**
 * The records of a spec. What applies is told by its status: a bound that was just set is there
 * once it acts.
 */
export function keptRecords(text: string): readonly KeptRecords[] {
  const spec = specOf(text);
  return KINDS.map(([what, prefix, place]) => {
    const status = place.reduce((at: JsonObject, name) => objectOf(at[name]), objectOf(spec.status));
    const settings = [`${prefix}retention`, `${prefix}storage`] as const;
    return {
      what,
      age: textOf(status.max_age) || textOf(spec[settings[0]]),
      size: sizeOf(numberOf(status.max_size_bytes), textOf(spec[settings[1]])),
      bytes: numberOf(status.size_bytes),
      settings,
    };
  });
}

/** The bytes that act, in the words of the setting where those mean the same. */
function sizeOf(acting: number | undefined, set: string): string {
  return acting === undefined || quantityValue(set) === acting ? set : sizeText(acting);
}
