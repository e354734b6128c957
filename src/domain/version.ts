/** The order of versions that users write. */

const NUMBERED = /^v?(\d+(?:\.\d+)*)(?:-([^+]+))?(?:\+.*)?$/i;

/**
 * The order of two versions: below zero when `a` is the older. Numbers separated by dots come in
 * the order of Semantic Versioning, `1.9.0` before `1.10.0` and `2.0.0-rc.1` before `2.0.0`; a part
 * that is missing is 0. All other versions are older than these, in the order of their characters.
 * Only equal texts give 0.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [NUMBERED.exec(a), NUMBERED.exec(b)];
  if (!left || !right) return (left ? 1 : 0) - (right ? 1 : 0) || compareTexts(a, b);
  return compareNumbers(left[1], right[1]) || compareStages(left[2], right[2]) || compareTexts(a, b);
}

function compareNumbers(a = "", b = ""): number {
  const [left, right] = [a.split("."), b.split(".")];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const order = compareDigits(left[at] ?? "0", right[at] ?? "0");
    if (order !== 0) return order;
  }
  return 0;
}

/**
 * The order of two pre-release parts, which follow the `-` of a version; a version without one is
 * the newer.
 */
function compareStages(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return (a === undefined ? 1 : 0) - (b === undefined ? 1 : 0);
  const [left, right] = [a.split("."), b.split(".")];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const [one = "", other = ""] = [left[at], right[at]];
    const [isOne, isOther] = [/^\d+$/.test(one), /^\d+$/.test(other)];
    const order = isOne && isOther ? compareDigits(one, other) : Number(isOther) - Number(isOne) || compareTexts(one, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** The order of two numbers of any length. */
function compareDigits(a: string, b: string): number {
  const [left, right] = [BigInt(a), BigInt(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
