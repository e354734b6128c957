/** The latencies of a load by their names. */

/** Latencies in milliseconds. */
export interface LoadLatencies {
  readonly minMs: number;
  readonly meanMs: number;
  readonly maxMs: number;
  readonly percentiles: readonly { readonly percent: number; readonly ms: number }[];
}

/** Names with milliseconds, from the smallest to the largest. */
export function latencyRows({ minMs, meanMs, maxMs, percentiles }: LoadLatencies): readonly (readonly [name: string, ms: number])[] {
  return [["min", minMs], ["mean", meanMs], ...percentiles.map(({ percent, ms }) => [`p${percent}`, ms] as const), ["max", maxMs]];
}
