/** The figures of a release as a table. */

import { releaseFileName } from "../domain/release/target.ts";
import type { BuiltRelease } from "./release.ts";

const megabytes = (bytes: number | undefined) => (bytes === undefined ? "-" : (bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1));

/**
 * One line per target: MB of its binary, of its compressed forms and of the smallest patch, and the
 * seconds they took; then the total time.
 */
export function figuresTable({ manifest, seconds }: BuiltRelease, totalSeconds: number): string {
  const head = ["target", "MB", "gz", "zst", "delta", "build s", "gz s", "zst s", "delta s"];
  const rows = Object.entries(manifest.targets).map(([name, binary]) => {
    const file = releaseFileName(name);
    const delta = binary.deltas.toSorted((a, b) => a.size - b.size)[0];
    const took = (step: string) => seconds.get(step)?.toFixed(1) ?? "-";
    return [
      name,
      megabytes(binary.size),
      megabytes(binary.encodings.gz?.size),
      megabytes(binary.encodings.zst?.size),
      megabytes(delta?.size),
      took(file),
      took(`${file}.gz`),
      took(`${file}.zst`),
      took(delta?.url ?? ""),
    ];
  });
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join("  ");
  return `${[head, ...rows].map(line).join("\n")}\n${manifest.version}: ${rows.length} ${rows.length === 1 ? "target" : "targets"} in ${totalSeconds.toFixed(1)} s`;
}
