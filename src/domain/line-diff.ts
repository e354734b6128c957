/**
 * Differences of two texts line by line, in the unified format of `diff -u`. Used where the system
 * has no diff tool.
 */

/** Lines shown around a change. */
const AROUND = 3;

interface Edit {
  readonly kind: " " | "-" | "+";
  readonly line: string;
}

/**
 * Unified hunks of two texts, without the `---`/`+++` header; empty when they are equal. A missing
 * newline at the end is marked as diff marks it.
 */
export function unifiedHunks(before: string, after: string): string {
  if (before === after) return "";
  const edits = shortestEdits(linesOf(before), linesOf(after));
  const changed = edits.flatMap((edit, index) => (edit.kind === " " ? [] : [index]));
  const out: string[] = [];
  for (let at = 0; at < changed.length; ) {
    const start = Math.max(0, (changed[at] as number) - AROUND);
    let last = changed[at] as number;
    while (at < changed.length && (changed[at] as number) <= last + 2 * AROUND + 1) last = changed[at++] as number;
    const hunk = edits.slice(start, last + AROUND + 1);
    const skipped = edits.slice(0, start);
    const range = (sign: "-" | "+") => {
      const count = hunk.filter((edit) => edit.kind !== (sign === "-" ? "+" : "-")).length;
      const first = skipped.filter((edit) => edit.kind !== (sign === "-" ? "+" : "-")).length + (count === 0 ? 0 : 1);
      return `${sign}${first}${count === 1 ? "" : `,${count}`}`;
    };
    out.push(`@@ ${range("-")} ${range("+")} @@`, ...hunk.map((edit) => edit.kind + edit.line));
  }
  return out.join("\n").replaceAll("\u0000", "\n\\ No newline at end of file");
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  return text.endsWith("\n") ? text.slice(0, -1).split("\n") : `${text}\u0000`.split("\n");
}

/**
 * Myers' algorithm: the fewest deletions and insertions; lines that both texts begin or end with
 * are set aside first.
 */
function shortestEdits(before: readonly string[], after: readonly string[]): Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const keep = (line: string): Edit => ({ kind: " ", line });
  return [
    ...before.slice(0, head).map(keep),
    ...myers(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(keep),
  ];
}

function myers(a: readonly string[], b: readonly string[]): Edit[] {
  const reach = a.length + b.length;
  let frontier = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  const best = (from: Map<number, number>, diagonal: number, depth: number) =>
    diagonal === -depth || (diagonal !== depth && (from.get(diagonal - 1) ?? -1) < (from.get(diagonal + 1) ?? -1))
      ? diagonal + 1
      : diagonal - 1;
  for (let depth = 0; depth <= reach; depth++) {
    trace.push(frontier);
    const next = new Map(frontier);
    for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
      const from = best(frontier, diagonal, depth);
      let x = (frontier.get(from) ?? 0) + (from === diagonal - 1 ? 1 : 0);
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
      next.set(diagonal, x);
      if (x >= a.length && x - diagonal >= b.length) return walkBack(a, b, trace, best);
    }
    frontier = next;
  }
  return [];
}

function walkBack(
  a: readonly string[],
  b: readonly string[],
  trace: readonly Map<number, number>[],
  best: (from: Map<number, number>, diagonal: number, depth: number) => number,
): Edit[] {
  const edits: Edit[] = [];
  let [x, y] = [a.length, b.length];
  for (let depth = trace.length - 1; depth >= 0; depth--) {
    const frontier = trace[depth] as Map<number, number>;
    const from = best(frontier, x - y, depth);
    const startX = frontier.get(from) ?? 0;
    const startY = startX - from;
    while (x > startX && y > startY && x > 0 && y > 0) {
      edits.push({ kind: " ", line: a[--x] as string });
      y--;
    }
    if (depth === 0) break;
    if (x === startX) edits.push({ kind: "+", line: b[--y] as string });
    else edits.push({ kind: "-", line: a[--x] as string });
  }
  return edits.reverse();
}
