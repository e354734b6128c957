/** Figures of a benchmark: medians over interleaved rounds, and a table of ratios. */

/** One line of the report. */
export interface Line {
  readonly what: string;
  /** The figure in words, for example `0.21 ms`. */
  readonly value: string;
  /** Against the anchor of its group, measured in the same rounds; undefined for an anchor. */
  readonly ratio?: number;
  readonly anchor?: string;
}

/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

/** Milliseconds in words. */
export function milliseconds(value: number): string {
  return value < 1 ? `${value.toFixed(3)} ms` : `${value.toFixed(value < 100 ? 2 : 0)} ms`;
}

/** Runs every subject once a round, so that what disturbs the machine disturbs all of them. */
export async function interleave<K extends string, T>(
  rounds: number,
  subjects: Readonly<Record<K, () => Promise<T>>>,
): Promise<Record<K, T[]>> {
  const names = Object.keys(subjects) as K[];
  const found = Object.fromEntries(names.map((name) => [name, [] as T[]])) as unknown as Record<K, T[]>;
  for (let round = 0; round < rounds; round++) for (const name of names) found[name].push(await subjects[name]());
  return found;
}

/** The report as aligned text. */
export function table(title: string, lines: readonly Line[]): string {
  const rows = lines.map(({ what, value, ratio, anchor }) => [
    what,
    value,
    ratio === undefined ? "" : `${ratio.toFixed(2)}x`,
    anchor ?? "",
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const text = rows.map((row) =>
    row
      .map((cell, column) => (column === 1 || column === 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join("  "),
  );
  return [title, ...text.map((line) => `  ${line.trimEnd()}`)].join("\n");
}
