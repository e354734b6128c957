/** Names that a user may have meant. */

/**
 * Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and
 * swaps of neighbours.
 */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((previous[j] as number) + 1, (row[j - 1] as number) + 1, (previous[j - 1] as number) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, (before[j - 2] as number) + 1);
      row.push(best);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] as number;
}

/**
 * At most `limit` of `names` that are close to `wanted`, best first: within an edit distance of
 * max(2, length / 3), or of one for names of up to three letters; then names that begin with it or
 * that it begins with; then names that contain it. Case is ignored. The SDK's `_surface/names.py`
 * does the same.
 */
export function closestNames(wanted: string, names: Iterable<string>, limit = 3): string[] {
  const target = wanted.toLowerCase();
  const reach = target.length > 3 ? Math.max(2, Math.floor(target.length / 3)) : 1;
  const scored: { name: string; score: number }[] = [];
  for (const name of new Set(names)) {
    const candidate = name.toLowerCase();
    const distance = Math.abs(candidate.length - target.length) > reach ? Number.POSITIVE_INFINITY : editDistance(target, candidate);
    if (distance <= reach) scored.push({ name, score: distance });
    else if (candidate.startsWith(target) || target.startsWith(candidate)) scored.push({ name, score: 100 + candidate.length });
    else if (target.length > 2 && candidate.includes(target)) scored.push({ name, score: 200 + candidate.length });
  }
  scored.sort((x, y) => x.score - y.score || (x.name < y.name ? -1 : 1));
  return scored.slice(0, limit).map((entry) => entry.name);
}

/** "did you mean a, b or c?", or the empty string when nothing is close, or nothing was wanted. */
export function didYouMean(wanted: string, names: Iterable<string>, quote: (name: string) => string = (name) => `'${name}'`): string {
  const found = wanted === "" ? [] : closestNames(wanted, names).map(quote);
  if (found.length === 0) return "";
  const last = found.pop() as string;
  return `did you mean ${found.length > 0 ? `${found.join(", ")} or ${last}` : last}?`;
}
