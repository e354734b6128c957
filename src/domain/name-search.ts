/**
 * Search of names and texts by a pattern that people type: a glob when it has `*` or `?`, else
 * letters that occur in order, or words of a text.
 */

/**
 * Whether a text, such as a description or a tag, has the pattern in it; a glob must fit one of its
 * words or all of it. Case is ignored.
 */
export function fitsText(pattern: string, text: string): boolean {
  const [wanted, given] = [pattern.trim().toLowerCase(), text.toLowerCase()];
  if (wanted === "" || given === "") return false;
  if (!/[*?]/.test(wanted)) return given.includes(wanted);
  return fitsGlob(wanted, given) || given.split(/\s+/).some((word) => fitsGlob(wanted, word));
}

/** Names that the pattern fits, best first; equal ones by name. Case is ignored. */
export function searchNames(pattern: string, names: readonly string[]): string[] {
  if (/[*?]/.test(pattern)) {
    return names.filter((name) => fitsGlob(pattern.toLowerCase(), name.toLowerCase())).sort();
  }
  const wanted = [...pattern.toLowerCase()].filter((letter) => letter.trim() !== "");
  return names
    .map((name) => ({ name, score: fuzzyScore(wanted, name) }))
    .filter((entry) => entry.score !== undefined)
    .sort((a, b) => (b.score as number) - (a.score as number) || (a.name < b.name ? -1 : 1))
    .map((entry) => entry.name);
}

/**
 * Whether all of a name fits: `*` is any text, `?` one character. Takes at most the product of the
 * lengths in steps.
 */
function fitsGlob(pattern: string, name: string): boolean {
  let [at, inName, star, tried] = [0, 0, -1, 0];
  while (inName < name.length) {
    if (pattern[at] === "*") {
      star = at++;
      tried = inName;
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[inName])) {
      at++;
      inName++;
    } else if (star >= 0) {
      at = star + 1;
      inName = ++tried;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}

const START_OF_WORD = 8;
const IN_A_ROW = 5;
const HIT = 1;
const GAP = -0.2;

/**
 * The score of letters in order in a name: a letter at the start of a word counts most, one that
 * follows the last hit next; letters that are skipped between hits and the rest of the name count
 * against it. Undefined when a letter is missing. The best placement is found, not the first.
 */
function fuzzyScore(wanted: readonly string[], name: string): number | undefined {
  const letters = [...name.toLowerCase()];
  if (wanted.length === 0 || wanted.length > letters.length) return wanted.length === 0 ? 0 : undefined;
  let ending: number[] = letters.map(() => Number.NEGATIVE_INFINITY);
  for (const [nth, letter] of wanted.entries()) {
    const next: number[] = [];
    let reach = Number.NEGATIVE_INFINITY;
    for (const [at, found] of letters.entries()) {
      reach = Math.max(reach + GAP, at > 1 ? (ending[at - 2] as number) + GAP : Number.NEGATIVE_INFINITY);
      const before =
        nth === 0 ? at * GAP * 0.25 : Math.max(reach, at > 0 ? (ending[at - 1] as number) + IN_A_ROW : Number.NEGATIVE_INFINITY);
      const worth = HIT + (isWordStart(name, at) ? START_OF_WORD : 0);
      next.push(found === letter ? before + worth : Number.NEGATIVE_INFINITY);
    }
    ending = next;
  }
  const best = Math.max(...ending);
  return best === Number.NEGATIVE_INFINITY ? undefined : best - letters.length * 0.05;
}

function isWordStart(name: string, at: number): boolean {
  return at === 0 || /[._\-[\s]/.test(name[at - 1] ?? "");
}
