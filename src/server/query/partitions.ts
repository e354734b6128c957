/**
 * Division of rows into parts that leave partitions whole: rows that are alike in what a resolver
 * is partitioned by (`partitioned_by`) are computed together.
 */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { ResolverInfo } from "./graph/index-types.ts";
import type { PlanOp } from "./plan/plan.ts";
import { QueryRefused, refusal } from "./refusal.ts";

/** Most rows that are computed together because they belong together. */
export const MOST_TOGETHER = 100_000;
/** The same of rows that may have any number of child rows each. */
export const MOST_PARENTS_TOGETHER = 10_000;

/** Rows that belong together, by what they are alike in. */
export class Partitions {
  readonly #parent: Int32Array;

  constructor(readonly rows: number) {
    this.#parent = Int32Array.from({ length: rows }, (_, row) => row);
  }

  /**
   * Brings together rows of the same text, beside what was brought together before.
   * @param texts one for each row; undefined = the row is like no other
   */
  join(texts: readonly (string | undefined)[]): void {
    const first = new Map<string, number>();
    for (let row = 0; row < this.rows; row++) {
      const text = texts[row];
      if (text === undefined) continue;
      const before = first.get(text);
      if (before === undefined) first.set(text, row);
      else this.#unite(before, row);
    }
  }

  /**
   * The rows in parts of at most `size`, as far as partitions allow: a larger one is a part by
   * itself. Partitions follow each other as their first rows do; the rows of a part ascend.
   */
  parts(size: number): number[][] {
    const partitions = new Map<number, number[]>();
    for (let row = 0; row < this.rows; row++) {
      const root = this.#rootOf(row);
      const partition = partitions.get(root);
      if (partition) partition.push(row);
      else partitions.set(root, [row]);
    }
    const parts: number[][] = [];
    let open: number[] = [];
    for (const partition of partitions.values()) {
      if (open.length > 0 && open.length + partition.length > size) {
        parts.push(open);
        open = [];
      }
      for (const row of partition) open.push(row);
    }
    if (open.length > 0) parts.push(open);
    return parts.map((part) => part.sort((a, b) => a - b));
  }

  #unite(one: number, other: number): void {
    const [a, b] = [this.#rootOf(one), this.#rootOf(other)];
    this.#parent[Math.max(a, b)] = Math.min(a, b);
  }

  /** The first row of a row's partition. */
  #rootOf(row: number): number {
    let root = row;
    while (this.#parent[root] !== root) root = this.#parent[root] as number;
    for (let at = row; at !== root; ) {
      const next = this.#parent[at] as number;
      this.#parent[at] = root;
      at = next;
    }
    return root;
  }
}

/** The refusal of a query that would divide the partitions of a resolver. */
export class DividedPartitions extends QueryRefused {
  constructor({ resolver }: PlanOp, why: string) {
    const columns = resolver?.partitionedBy.map(({ fqn }) => fqn).join(" and ");
    super([refusal(ErrorCode.INVALID_QUERY, `${resolver?.fqn} is given all rows with the same ${columns} in one call, and ${why}`)]);
  }
}

/** Why a partition is not computed. */
export function tooLarge({ fqn, partitionedBy }: ResolverInfo, rows: number): string {
  const [given, most] = [rows, MOST_TOGETHER].map((count) => count.toLocaleString("en"));
  const columns = partitionedBy.map((feature) => feature.fqn).join(" and ");
  return `${fqn} is given all rows with the same ${columns} in one call, and ${given} rows have: at most ${most} can; partition it by more columns`;
}
