/** What was asked for in the last day, as small charts beside a list on a terminal. */

import type { Context } from "../context/context.ts";
import { msToTimestamp } from "../domain/proto-time.ts";
import { sparkline } from "../output/sparkline.ts";

const DAY_MS = 86_400_000;
/** Milliseconds after which a list is shown without charts. */
const PATIENCE_MS = 500;

/**
 * A line of an expression's values of the last day for each value of the label that it is grouped
 * by, one sign an hour. Empty without a terminal, when nothing was recorded, and when the server
 * does not tell at once: a list never waits or fails for it.
 */
export async function recentRequests(
  { api, clock, io }: Pick<Context, "api" | "clock" | "io">,
  expression: string,
): Promise<ReadonlyMap<string, readonly (number | undefined)[]>> {
  if (!io.stdoutIsTTY) return new Map();
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

/** Names with their line at the right, where any has one and all fit into the terminal. */
export function withLines(
  names: readonly { readonly key: string; readonly text: string }[],
  lines: ReadonlyMap<string, readonly (number | undefined)[]>,
  { hasColor, width }: { readonly hasColor: boolean; readonly width: number },
): string[] {
  const texts = names.map(({ text }) => text);
  const hours = Math.max(0, ...[...lines.values()].map((values) => values.length));
  const widest = Math.max(0, ...texts.map((text) => Bun.stringWidth(text)));
  if (hours === 0 || widest + 2 + hours > width || !names.some(({ key }) => lines.has(key))) return texts;
  return names.map(({ key, text }) => {
    const values = lines.get(key);
    if (!values?.some((value) => value)) return text;
    return `${text}${" ".repeat(widest + 2 - Bun.stringWidth(text))}${sparkline(values, { ascii: !hasColor })}`;
  });
}
