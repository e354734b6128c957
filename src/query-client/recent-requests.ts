/** What was asked for in the last day, as small charts beside a list on a terminal. */

import type { Context } from "../context/context.ts";
import { msToTimestamp } from "../domain/proto-time.ts";
import { sparkline } from "../output/sparkline.ts";
import { displayWidth } from "../output/table.ts";
import type { Column, Style } from "../output/view.ts";

const DAY_MS = 86_400_000;
/** Milliseconds after which a list is shown without charts. */
const PATIENCE_MS = 500;

/** Values of the hours of the last day, by what they are of; none of what was not recorded. */
export type HourlyValues = ReadonlyMap<string, readonly (number | undefined)[]>;

/**
 * A line of an expression's values of the last day for each value of the label that it is grouped
 * by, one sign an hour. Empty without a terminal, with --json, when nothing was recorded, and when
 * the server does not tell at once: a list never waits or fails for it.
 */
export async function recentRequests(
  { api, clock, flags, io }: Pick<Context, "api" | "clock" | "flags" | "io">,
  expression: string,
): Promise<HourlyValues> {
  if (!io.stdoutIsTTY || flags.json) return new Map();
  const asked = async () => {
    const now = clock.now();
    const { series } = await (await api.metrics()).queryMetric({
      expression: `${expression}.rollup(1h)`,
      startTime: msToTimestamp(now - DAY_MS),
    });
    return new Map(series.map(({ labels, points }) => [Object.values(labels).join(), points.map(({ value }) => value)]));
  };
  const none = new Map<string, (number | undefined)[]>();
  const end = new AbortController();
  try {
    return await Promise.race([
      asked().catch(() => none),
      clock.sleep(PATIENCE_MS, end.signal).then(
        () => none,
        () => none,
      ),
    ]);
  } finally {
    end.abort();
  }
}

/** A line of values, one sign an hour; empty where nothing was asked for. */
export function hoursLine(values: readonly (number | undefined)[] = [], { hasColor }: Pick<Style, "hasColor">): string {
  return values.some((value) => value) ? sparkline(values, { ascii: !hasColor }) : "";
}

/** The column of lines of a table, for terminals with room for it; none when no row has a line. */
export function hoursColumn<Row>(header: string, values: HourlyValues, rows: readonly Row[], keyOf: (row: Row) => string): Column<Row>[] {
  const hasLine = rows.some((row) => values.get(keyOf(row))?.some((value) => value));
  return hasLine ? [{ header, cell: (row, style) => hoursLine(values.get(keyOf(row)), style), dispensable: true }] : [];
}

/** Names with their line at the right, where any has one and all fit into the terminal. */
export function withLines(
  names: readonly { readonly key: string; readonly text: string }[],
  lines: HourlyValues,
  style: Pick<Style, "hasColor" | "width">,
): string[] {
  const texts = names.map(({ text }) => text);
  const hours = Math.max(0, ...[...lines.values()].map((values) => values.length));
  const widest = Math.max(0, ...texts.map(displayWidth));
  if (widest + 2 + hours > style.width) return texts;
  return names.map(({ key, text }) => {
    const line = hoursLine(lines.get(key), style);
    return line === "" ? text : `${text}${" ".repeat(widest + 2 - displayWidth(text))}${line}`;
  });
}
