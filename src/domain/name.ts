/**
 * Names of features. A fully qualified name is `<namespace>.<feature>`; a path goes through
 * relations, `flight.origin.latitude`; a windowed feature is `user.fails[10m]` for people and
 * `user.fails__600__` (seconds) inside.
 */

import { formatDuration, parseDuration } from "./duration.ts";

/** The window that the word `all` stands for: 36,500 days. */
export const ALL_WINDOW_MS = 36_500 * 86_400_000;

const READABLE_WINDOW = /^\[\s*["']?([^[\]"']+)["']?\s*\]$/;
const RAW_WINDOW = /__(\d+)__$/;

/**
 * `snake_case` of a class name, without a trailing `Features`: `MNISTDataPoint` is
 * `mnist_data_point`, `UserFeatures` is `user`.
 */
export function namespaceOf(className: string): string {
  const base = className.length > 8 && className.endsWith("Features") ? className.slice(0, -8) : className;
  return base
    .replace(/(?<=[A-Z])(?=[A-Z][a-z])/g, "_")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase();
}

/**
 * Milliseconds of a window such as `7d`, `1w` or `all`: whole seconds, one at least. Undefined when
 * it is none.
 */
export function parseWindow(text: string): number | undefined {
  if (text.trim().toLowerCase() === "all") return ALL_WINDOW_MS;
  const ms = parseDuration(text);
  return ms !== undefined && ms >= 1000 && ms % 1000 === 0 ? ms : undefined;
}

/**
 * The name with a readable window at its end made raw; other names, and windows that are none,
 * stay.
 */
export function rawName(name: string): string {
  const at = name.endsWith("]") ? name.lastIndexOf("[") : -1;
  const match = at < 0 ? null : READABLE_WINDOW.exec(name.slice(at));
  const ms = match ? parseWindow(match[1] as string) : undefined;
  return ms === undefined ? name : `${name.slice(0, at)}__${ms / 1000}__`;
}

/**
 * The name with a raw window at its end made readable: `user.fails__600__` becomes
 * `user.fails[10m]`. Other names stay.
 */
export function readableName(name: string): string {
  const match = RAW_WINDOW.exec(name);
  if (!match) return name;
  const ms = Number(match[1]) * 1000;
  if (ms === 0 || !Number.isSafeInteger(ms)) return name;
  return `${name.slice(0, match.index)}[${ms === ALL_WINDOW_MS ? "all" : formatDuration(ms)}]`;
}

/**
 * The order of names as people expect it: by text, and the windows of one feature by their length.
 */
export function compareNames(left: string, right: string): number {
  const [a, b] = [RAW_WINDOW.exec(left), RAW_WINDOW.exec(right)];
  const [leftBase, rightBase] = [left.slice(0, a?.index), right.slice(0, b?.index)];
  if (leftBase !== rightBase) return leftBase < rightBase ? -1 : 1;
  return Number(a?.[1] ?? 0) - Number(b?.[1] ?? 0);
}

/** A name with control characters written visibly (`\x1b`), safe to print on a terminal. */
export function escapeControls(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    if (c === "\n") return "\\n";
    if (c === "\t") return "\\t";
    if (c === "\r") return "\\r";
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`;
  });
}
