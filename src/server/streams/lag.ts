/** How far streams are behind their topics. */

import type { StreamPosition } from "../stores/tiles/store.ts";
import type { PartitionEnds } from "../topics/topics.ts";

/** Messages of a partition that are kept and not read yet. */
export function partitionLag(position: StreamPosition | undefined, { earliest, latest }: PartitionEnds): number {
  const from = position && position.offset > earliest && position.offset <= latest ? position.offset : earliest;
  return Number(latest - from);
}

/** Messages of all partitions that are kept and not read yet. */
export function lagOf(positions: readonly StreamPosition[], ends: readonly PartitionEnds[]): number {
  const read = new Map(positions.map((position) => [position.partition, position]));
  return ends.reduce((sum, end) => sum + partitionLag(read.get(end.partition), end), 0);
}
