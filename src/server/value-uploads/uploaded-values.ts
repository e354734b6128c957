/** Uploaded values as those are told of them who want to know of computed ones. */

import { normalizeInt, toPlainJson } from "../../domain/value.ts";
import type { DeletedValues } from "../deletions/deleted-values.ts";
import type { ComputedCell } from "../query/answer/computed.ts";
import type { TypedRows } from "./typed-rows.ts";

/** The values of rows that were stored, of the features that are wanted. */
export function* uploadedValues(
  rows: readonly TypedRows[],
  scope: string,
  deleted: Pick<DeletedValues, "refuses">,
  wants: (fqn: string) => boolean,
): Iterable<ComputedCell> {
  for (const { columns, keys, observedAt } of rows)
    for (const { feature, values } of columns) {
      if (!wants(feature.fqn)) continue;
      for (const [row, key] of keys.entries()) {
        if (deleted.refuses(scope, feature.featureId as number, key, observedAt[row] as number)) continue;
        yield { fqn: feature.fqn, key: plainKey(key), value: toPlainJson(values[row] ?? null, feature.dtype), resolver: "" };
      }
    }
}

/** A key of the stores as JSON. */
function plainKey(key: string): unknown {
  return key.startsWith("i:") ? toPlainJson(normalizeInt(BigInt(key.slice(2)))) : key.slice(2);
}
