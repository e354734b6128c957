/** What two loads differ in, in words. */

import type { Verdict } from "./comparison.ts";

/** What a verdict says. */
export const VERDICT_TEXT: Readonly<Record<Verdict, string>> = {
  faster: "faster",
  slower: "slower",
  too_short: "too few queries to tell: run longer, or faster",
  within_noise: "no difference that the noise allows to see",
};

/** Milliseconds of a median; empty where there is none. */
export function medianText(ms: number): string {
  return ms > 0 ? ms.toFixed(2) : "";
}

/** A change in percent, with its sign. */
export function changeText(percent: number): string {
  return `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`;
}
