/** What can stand where one types in a metric expression. */

import type { MetricJson } from "../../../../gen/svc/v1/metric_pb.ts";

/** Texts that can stand in place of those between two offsets. */
export interface Completion {
  readonly from: number;
  readonly to: number;
  readonly options: readonly string[];
}

const MOST = 20;

/**
 * What fits at the caret: functions with their metrics, labels in braces, and values behind a
 * label.
 */
export function completionAt(text: string, caret: number, metrics: readonly MetricJson[]): Completion {
  const before = text.slice(0, caret);
  const open = before.lastIndexOf("{");
  const isInside = open > before.lastIndexOf("}");
  return isInside ? labelAt(before, open, metrics) : metricAt(before, metrics);
}

/** The metric whose labels' values stand at the caret; undefined = none do. */
export function metricOfValues(text: string, caret: number): string | undefined {
  const before = text.slice(0, caret);
  const inside = /([a-z]+\.[a-z_.]+)\{([^{}]*)$/.exec(before);
  return inside?.[2] !== undefined && /(^|,)\s*\w+:[^,]*$/.test(inside[2]) ? inside[1] : undefined;
}

function metricAt(before: string, metrics: readonly MetricJson[]): Completion {
  const typed = /[a-z0-9_.:]*$/i.exec(before)?.[0] ?? "";
  const all = metrics.flatMap(({ functions = [], name = "" }) => functions.map((fn) => `${fn}:${name}`));
  return { from: before.length - typed.length, to: before.length, options: fitting(all, typed) };
}

function labelAt(before: string, open: number, metrics: readonly MetricJson[]): Completion {
  const inside = before.slice(open + 1);
  const isGrouping = /\bby\s*$/.test(before.slice(0, open));
  const named = [...before.slice(0, open).matchAll(/[a-z]+\.[a-z_.]+/g)].at(-1)?.[0];
  const { labels = [] } = metrics.find(({ name }) => name === named) ?? {};
  const [, label, typedValue] = /(?:^|,)\s*(\w+):!?(?:[^,|]*\|)*([^,|]*)$/.exec(inside) ?? [];
  if (label !== undefined && typedValue !== undefined && !isGrouping) {
    const values = labels.find(({ name }) => name === label)?.values ?? [];
    const plain = values.filter((value) => /^[\w./@-]+$/.test(value));
    return { from: before.length - typedValue.length, to: before.length, options: fitting(plain, typedValue) };
  }
  const typed = /\w*$/.exec(inside)?.[0] ?? "";
  const names = labels.map(({ name = "" }) => (isGrouping ? name : `${name}:`));
  return { from: before.length - typed.length, to: before.length, options: fitting(names, typed) };
}

/**
 * The options with what was typed in them, those that begin with it first, without what is there
 * already.
 */
function fitting(options: readonly string[], typed: string): readonly string[] {
  const wanted = typed.toLowerCase();
  const found = options.filter((option) => option.toLowerCase().includes(wanted) && option !== typed);
  const isFirst = (option: string) => Number(!option.toLowerCase().startsWith(wanted));
  return found.sort((a, b) => isFirst(a) - isFirst(b) || (a < b ? -1 : 1)).slice(0, MOST);
}
