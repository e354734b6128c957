/**
 * Histograms of latencies: buckets whose width grows with the value, exact below 2,048 units,
 * within 0.1 % beyond, in bounded memory however many values are recorded. The unit is the
 * caller's; load tests use microseconds.
 */

/** Buckets that each doubling of the value is divided into. */
const SUB_BUCKETS = 1024;
const EXACT_BELOW = 2 * SUB_BUCKETS;

/** One bucket: values from `from` to `to`, both included. */
export interface LatencyBucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** A histogram of whole numbers from 0 to 2^53 - 1. */
export class LatencyHistogram {
  private readonly counts: number[] = [];
  private total = 0;
  private sum = 0;
  private smallest = Number.POSITIVE_INFINITY;
  private largest = 0;

  /** Counts a value; it is rounded, and taken as 0 when it is negative. */
  record(value: number): void {
    const whole = Math.min(Math.max(Math.round(value), 0), Number.MAX_SAFE_INTEGER);
    const index = indexOf(whole);
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.total++;
    this.sum += whole;
    this.smallest = Math.min(this.smallest, whole);
    this.largest = Math.max(this.largest, whole);
  }

  /** Counts all values of another histogram too. */
  add(other: LatencyHistogram): void {
    for (const [key, count] of Object.entries(other.counts)) this.counts[Number(key)] = (this.counts[Number(key)] ?? 0) + count;
    this.total += other.total;
    this.sum += other.sum;
    this.smallest = Math.min(this.smallest, other.smallest);
    this.largest = Math.max(this.largest, other.largest);
  }

  /** Values recorded. */
  get count(): number {
    return this.total;
  }

  /** The smallest value; 0 when there is none. */
  get min(): number {
    return this.total === 0 ? 0 : this.smallest;
  }

  /** The largest value; 0 when there is none. */
  get max(): number {
    return this.largest;
  }

  /** The mean; 0 when there is no value. */
  get mean(): number {
    return this.total === 0 ? 0 : this.sum / this.total;
  }

  /**
   * The smallest value that at least `percent` of the values do not exceed, rounded up to the end
   * of its bucket; never below the smallest value nor above the largest. 0 when there is no value.
   */
  percentile(percent: number): number {
    if (this.total === 0) return 0;
    const wanted = Math.max(1, Math.ceil((Math.min(Math.max(percent, 0), 100) / 100) * this.total - 1e-9));
    let seen = 0;
    for (const { to, count } of this.buckets()) {
      seen += count;
      if (seen >= wanted) return Math.max(Math.min(to, this.largest), this.smallest);
    }
    return this.largest;
  }

  /** The buckets that hold values, from the smallest on. */
  *buckets(): Generator<LatencyBucket> {
    for (const [key, count] of Object.entries(this.counts)) yield { ...boundsOf(Number(key)), count };
  }

  /**
   * At most `bins` ranges of equal ratio that cover all values, with their counts; empty when there
   * is no value.
   */
  bins(bins: number): LatencyBucket[] {
    if (this.total === 0) return [];
    const low = Math.max(this.smallest, 1);
    const ratio = Math.max((this.largest + 1) / low, 1 + Number.EPSILON) ** (1 / bins);
    const edges = [...new Set(Array.from({ length: bins }, (_, at) => Math.round(low * ratio ** (at + 1)) - 1))].filter(
      (edge) => edge >= low,
    );
    edges[Math.max(0, edges.length - 1)] = this.largest;
    const counts = edges.map(() => 0);
    let at = 0;
    for (const bucket of this.buckets()) {
      while (at < edges.length - 1 && Math.min(bucket.to, this.largest) > (edges[at] as number)) at++;
      counts[at] = (counts[at] as number) + bucket.count;
    }
    return edges.map((to, index) => ({
      from: index === 0 ? this.smallest : (edges[index - 1] as number) + 1,
      to,
      count: counts[index] as number,
    }));
  }
}

function indexOf(value: number): number {
  if (value < EXACT_BELOW) return value;
  const shift = Math.floor(Math.log2(value)) - 10;
  return shift * SUB_BUCKETS + Math.floor(value / 2 ** shift);
}

function boundsOf(index: number): { readonly from: number; readonly to: number } {
  if (index < EXACT_BELOW) return { from: index, to: index };
  const shift = Math.floor(index / SUB_BUCKETS) - 1;
  const from = (index - shift * SUB_BUCKETS) * 2 ** shift;
  return { from, to: from + 2 ** shift - 1 };
}
