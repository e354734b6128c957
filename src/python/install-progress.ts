/** The progress of installers in a few words, from the lines of their logs. */

/** Patterns for informative lines of pip and uv, and the text shown for each. */
const LOG_PATTERNS: readonly (readonly [line: RegExp, format: (...groups: string[]) => string])[] = [
  [/^Collecting ([\w.-]+)(?:\[[^\]]*\])?==([^\s,;]+)/, (name, version) => `installing ${name} ${version}`],
  [/^Collecting ([\w.-]+)/, (name) => `installing ${name}`],
  [
    /^(?:Downloading|Using cached) (?:\S*\/)?([\w.]+)-(\d[^-\s]*?)(?:-\S+\.whl|\.tar\.gz|\.zip)(?:\.metadata)? \((.+)\)$/,
    (name, version, size) => `downloading ${name} ${version} (${size})`,
  ],
  [/^Building wheel for (\S+)/, (name) => `building ${name}`],
  [/^Building (\S+?)(?:==(\S+)| @ .*)?$/, (name, version = "") => `building ${name} ${version}`.trimEnd()],
  [/^\+ (\S+?)==(\S+)$/, (name, version) => `installed ${name} ${version}`],
  [
    /^(Successfully installed|Installing collected packages:|Resolved|Prepared|Installed|Downloading) (.+)$/,
    (what = "", rest) => `${what.toLowerCase()} ${rest}`,
  ],
  [/^((?:WARNING|DEPRECATION|warning): .+)$/, (text = "") => text],
];

/** The text shown for a line of pip's or uv's log; undefined for an uninformative line. */
export function installProgress(line: string): string | undefined {
  for (const [pattern, format] of LOG_PATTERNS) {
    const found = pattern.exec(line.trim());
    if (found) return format(...found.slice(1));
  }
  return undefined;
}
