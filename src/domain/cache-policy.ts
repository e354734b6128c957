/** Which fresh values are not stored online as they are. */

/** The options of a feature, as its message and its JSON have them; absent = as they are by default. */
export interface CachePolicy {
  readonly cacheNulls?: boolean | undefined;
  readonly evictNulls?: boolean | undefined;
  readonly cacheDefaults?: boolean | undefined;
  readonly evictDefaults?: boolean | undefined;
}

/** The options as they are written: `cache_nulls="evict_nulls", cache_defaults=False`; empty = none. */
export function cachePolicyText({ cacheDefaults = true, cacheNulls = true, evictDefaults, evictNulls }: CachePolicy): string {
  return [
    ...(cacheNulls ? [] : [`cache_nulls=${evictNulls ? '"evict_nulls"' : "False"}`]),
    ...(cacheDefaults ? [] : [`cache_defaults=${evictDefaults ? '"evict_defaults"' : "False"}`]),
  ].join(", ");
}
