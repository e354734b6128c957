/** Traced values of series, gathered into the groups of a selection. */

import { labelTest } from "./grouping.ts";
import { type Exemplar, type ExemplarGroup, type ExemplarSelection, MAX_EXEMPLARS, type MetricSeries } from "./store.ts";

/** Groups by the labels of `by`, each with its greatest values. */
export class GatheredExemplars {
  readonly #groups = new Map<string, ExemplarGroup>();
  /** Whether a selection's filters take a series with these labels. */
  readonly matches: (labels: MetricSeries["labels"]) => boolean;
  readonly #by: readonly string[];

  constructor({ by, filters }: Pick<ExemplarSelection, "by" | "filters">) {
    this.matches = labelTest(filters);
    this.#by = by;
  }

  /** Adds values of a series, or of a group; one that is there already counts once. */
  add(labels: MetricSeries["labels"], exemplars: readonly Exemplar[]): void {
    if (exemplars.length === 0) return;
    const own = Object.fromEntries(this.#by.map((name) => [name, labels[name] ?? ""]));
    const key = Object.values(own).join("\0");
    const all = [...(this.#groups.get(key)?.exemplars ?? []), ...exemplars];
    const different = new Map(all.map((one) => [`${one.traceId} ${one.at} ${one.value}`, one])).values();
    const greatest = [...different].sort((one, other) => other.value - one.value || one.at - other.at).slice(0, MAX_EXEMPLARS);
    this.#groups.set(key, { labels: own, exemplars: greatest });
  }

  /** The groups to which anything was added. */
  groups(): ExemplarGroup[] {
    return [...this.#groups.values()];
  }
}
