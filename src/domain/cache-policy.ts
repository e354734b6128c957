/** Which fresh values are not stored online as they are. */

/** Options of a feature, as its message and its JSON have them; absent = as by default. */
export interface CachePolicy {
  readonly cacheNulls?: boolean | undefined;
  readonly evictNulls?: boolean | undefined;
  readonly cacheDefaults?: boolean | undefined;
  readonly evictDefaults?: boolean | undefined;
}

/** The options as they are written, those that are not by default: `cache_nulls=False`. */
export function cachePolicyText({ cacheDefaults = true, cacheNulls = true, evictDefaults, evictNulls }: CachePolicy): string {
  return [
    ...(cacheNulls ? [] : [`cache_nulls=${evictNulls ? '"evict_nulls"' : "False"}`]),
    ...(cacheDefaults ? [] : [`cache_defaults=${evictDefaults ? '"evict_defaults"' : "False"}`]),
  ].join(", ");
}
