/** What the last hour was like, as marks on the nodes of a lineage. */

import type { QueryMetricResponseJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { lineageId } from "../../../domain/lineage.ts";
import { durationText } from "../../parts/duration.tsx";

/** What nodes can be coloured by; empty = their kinds. */
export const MARKINGS = ["errors", "latency", "age"] as const;
export type Marking = (typeof MARKINGS)[number];

/** How a node fared. */
export interface Mark {
  readonly level: "good" | "warn" | "bad";
  /** A few letters that say the same. */
  readonly text: string;
}

/** How nodes are marked. */
interface MarkingRow {
  readonly metric: "resolver.errors" | "resolver.latency" | "feature.age";
  readonly fn: "sum" | "p99" | "p95";
  readonly kind: "resolver" | "feature";
  /** From which value on it is a warning, and bad. */
  readonly warn: number;
  readonly bad: number;
  readonly text: (value: number) => string;
  /** What the colours mean. */
  readonly legend: readonly (readonly [level: Mark["level"], words: string])[];
}

const HOUR = 3_600;
const DAY = 24 * HOUR;
const asTime = (seconds: number) => durationText(seconds * 1_000);

const ROWS: Readonly<Record<Marking, MarkingRow>> = {
  errors: {
    ...{ metric: "resolver.errors", fn: "sum", kind: "resolver", warn: 1, bad: 10 },
    text: (count) => `${count.toLocaleString("en")} ${count === 1 ? "error" : "errors"}`,
    legend: [
      ["warn", "fewer than 10 errors"],
      ["bad", "10 or more"],
    ],
  },
  latency: {
    ...{ metric: "resolver.latency", fn: "p99", kind: "resolver", warn: 0.1, bad: 1 },
    text: asTime,
    legend: [
      ["good", "p99 below 100ms"],
      ["warn", "below 1s"],
      ["bad", "1s or more"],
    ],
  },
  age: {
    ...{ metric: "feature.age", fn: "p95", kind: "feature", warn: HOUR, bad: DAY },
    text: asTime,
    legend: [
      ["good", "p95 below 1h"],
      ["warn", "below 1d"],
      ["bad", "1d or more"],
    ],
  },
};

/** What the colours of a marking mean. */
export function legendOf(marking: Marking): MarkingRow["legend"] {
  return ROWS[marking].legend;
}

/** The expression whose series the marks are made of; empty branch = that of no branch. */
export function markExpression(marking: Marking, branch: string): string {
  const { fn, kind, metric } = ROWS[marking];
  const of = branch === "" ? "" : `{branch:${JSON.stringify(branch)}}`;
  return `${fn}:${metric}${of} by {${kind}}`;
}

/** The marks by ids of nodes: of a class, the worst of its features. */
export function marksOf(marking: Marking, { series = [] }: QueryMetricResponseJson): ReadonlyMap<string, Mark> {
  const { bad, fn, kind, text, warn } = ROWS[marking];
  const values = new Map<string, number>();
  const keep = (id: string, value: number) => values.set(id, Math.max(value, values.get(id) ?? value));
  for (const { labels = {}, points = [] } of series) {
    const known = points.flatMap(({ value }) => (typeof value === "number" ? [value] : []));
    const name = labels[kind] ?? "";
    if (known.length === 0 || name === "") continue;
    const value = fn === "sum" ? known.reduce((sum, one) => sum + one, 0) : Math.max(...known);
    keep(lineageId(kind, name), value);
    if (kind === "feature") keep(lineageId("class", name.split(".", 1)[0] ?? ""), value);
  }
  return new Map(
    [...values].map(([id, value]) => [id, { level: value >= bad ? "bad" : value >= warn ? "warn" : "good", text: text(value) }]),
  );
}
