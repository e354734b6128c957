/** The values of features that a webhook is told of, as an event `feature.computed` has them. */

import type { ToldValue } from "../deletions/deleted-values.ts";
import type { ComputedCell } from "../query/answer/computed.ts";

/** What an event has of them. */
export interface ToldValues {
  /** Empty = the environment's own. */
  readonly branch: string;
  readonly values: readonly ComputedCell[];
  /** Number of values that are not told: there was no room for them, or they were deleted. */
  readonly omitted: number;
}

/** The event without some of its values; the same one when it has none of them. */
export function withoutValues<T extends ToldValues>(told: T, isLeftOut: (value: ToldValue) => boolean): T {
  const values = told.values.filter((value) => !isLeftOut(value));
  const fewer = told.values.length - values.length;
  return fewer === 0 ? told : { ...told, values, omitted: told.omitted + fewer };
}
