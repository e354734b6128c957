/** Buckets of series, merged into the groups and periods of a selection. */

import { BucketSum } from "./bucket-sum.ts";
import type { MetricAnswer, MetricFilter, MetricSelection, MetricSeries } from "./store.ts";

/** A group while buckets are added to it. */
export class GatheredGroup {
  /** Sums by the beginning of their period. */
  readonly #periods = new Map<number, BucketSum>();
  #last: { at: number; sum: BucketSum } | undefined;
  count = 0;

  constructor(
    readonly key: string,
    readonly labels: Readonly<Record<string, string>>,
    readonly stepMs: number,
  ) {}

  /**
   * Adds a bucket that begins at a time, epoch milliseconds; its histogram as `BucketSum.add` takes
   * it.
   */
  add(at: number, count: number, sum: number, min: number, max: number, histogram?: Uint8Array | null, begin?: number, end?: number): void {
    this.count += count;
    this.#period(at).add(count, sum, min, max, histogram, begin, end);
  }

  /** The group with its buckets in the order of time. */
  finish(): MetricAnswer["groups"][number] {
    const periods = [...this.#periods].sort(([one], [other]) => one - other);
    return { labels: this.labels, buckets: periods.map(([at, sum]) => sum.bucketAt(at)) };
  }

  #period(time: number): BucketSum {
    const at = Math.floor(time / this.stepMs) * this.stepMs;
    if (this.#last?.at === at) return this.#last.sum;
    let sum = this.#periods.get(at);
    if (!sum) {
      sum = new BucketSum();
      this.#periods.set(at, sum);
    }
    this.#last = { at, sum };
    return sum;
  }
}

/** Groups of a selection by the labels of `by`. */
export class MetricGrouping {
  readonly #groups = new Map<string, GatheredGroup>();
  readonly #matches: (labels: MetricSeries["labels"]) => boolean;

  constructor(readonly selection: Pick<MetricSelection, "filters" | "by" | "stepMs" | "maxGroups">) {
    this.#matches = labelTest(selection.filters);
  }

  /** The group of a series with these labels; undefined when a filter leaves it out. */
  groupOf(labels: MetricSeries["labels"]): GatheredGroup | undefined {
    if (!this.#matches(labels)) return undefined;
    const { by, stepMs } = this.selection;
    const values = by.map((name) => labels[name] ?? "");
    const key = values.join("\0");
    let group = this.#groups.get(key);
    if (!group) {
      group = new GatheredGroup(key, Object.fromEntries(by.map((name, at) => [name, values[at] as string])), stepMs);
      this.#groups.set(key, group);
    }
    return group;
  }

  /**
   * Groups to which anything was added: those with the most records, in the order of their labels.
   */
  answer(): MetricAnswer {
    const groups = [...this.#groups.values()].filter(({ count }) => count > 0);
    const kept = mostCounted(groups, ({ count }) => count, this.selection.maxGroups);
    return { groups: kept.map((group) => group.finish()), omitted: groups.length - kept.length };
  }
}

/**
 * The groups with the highest counts, in the order of their labels; of equal counts the first ones.
 */
export function mostCounted<G extends { readonly key: string }>(groups: readonly G[], countOf: (group: G) => number, most: number): G[] {
  const byKey = (one: G, other: G): number => (one.key < other.key ? -1 : 1);
  const counted = groups.toSorted((one, other) => countOf(other) - countOf(one) || byKey(one, other));
  return counted.slice(0, most).sort(byKey);
}

/** A test of labels by filters, all of which have to hold. */
export function labelTest(filters: readonly MetricFilter[]): (labels: MetricSeries["labels"]) => boolean {
  const tests = filters.map(({ label, patterns, isNegated }) => {
    const matches = patterns.map(patternTest);
    return (labels: MetricSeries["labels"]): boolean => matches.some((match) => match(labels[label] ?? "")) !== isNegated;
  });
  return (labels) => tests.every((test) => test(labels));
}

/**
 * A test of a text by a pattern in which `*` is any text; its cost is at most pattern times text.
 */
function patternTest(pattern: string): (text: string) => boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return (text) => text === pattern;
  const last = rest.pop() as string;
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return at <= text.length - last.length;
  };
}
