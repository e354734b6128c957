/** Lengths of time in buckets whose bounds grow alike. */

import type { Bucket } from "../../parts/histogram.tsx";

/** Buckets in a doubling. */
const STEPS = 2;
const MOST = 40;

/** How often lengths of time, in milliseconds, were where; without empty buckets at the ends. */
export function latencyBuckets(lengths: readonly number[]): readonly Bucket[] {
  const places = lengths.filter((ms) => ms > 0).map((ms) => Math.floor(Math.log2(ms) * STEPS));
  if (places.length === 0) return [];
  const low = places.reduce((least, place) => Math.min(least, place));
  const high = Math.min(
    places.reduce((most, place) => Math.max(most, place)),
    low + MOST - 1,
  );
  const counts = Array.from({ length: high - low + 1 }, () => 0);
  for (const place of places) counts[Math.min(place, high) - low] = (counts[Math.min(place, high) - low] ?? 0) + 1;
  return counts.map((count, at) => ({ from: bound(low + at), to: bound(low + at + 1), count }));
}

function bound(place: number): number {
  return Number((2 ** (place / STEPS)).toPrecision(3));
}
