/** What is paid for, added up as pages show it. */

import type { UsageJson } from "../../../../gen/svc/v1/usage_pb.ts";

/** Figures of usage that can be looked at. */
export const FIGURES = {
  credits: { title: "Credits", of: ({ credits = 0 }: UsageJson) => Number(credits) },
  queries: { title: "Queries", of: ({ bulkQueries = "0", queries = "0" }: UsageJson) => Number(queries) + Number(bulkQueries) },
  rows: { title: "Rows", of: ({ rows = "0" }: UsageJson) => Number(rows) },
  errors: { title: "Errors", of: ({ errors = "0" }: UsageJson) => Number(errors) },
  cpu: { title: "CPU seconds", of: ({ cpuSeconds = 0 }: UsageJson) => Number(cpuSeconds) },
  memory: { title: "Memory, GiB hours", of: ({ memoryGibHours = 0 }: UsageJson) => Number(memoryGibHours) },
  storage: { title: "Storage, GiB hours", of: ({ storageGibHours = 0 }: UsageJson) => Number(storageGibHours) },
} as const;

/** Name of a figure. */
export type FigureName = keyof typeof FIGURES;

/**
 * Sums of a figure by a part of the rows, such as the day, in the order in which those first come.
 */
export function sumsBy(usage: readonly UsageJson[], figure: FigureName, by: "date" | "label"): readonly (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const row of usage) sums.set(row[by] ?? "", (sums.get(row[by] ?? "") ?? 0) + FIGURES[figure].of(row));
  return [...sums];
}
