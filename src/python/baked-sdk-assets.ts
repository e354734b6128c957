/** The files of the Python package. */

import { readFileSync } from "node:fs";

/** Text of every file of the Python package, by its path below `src/sdk`, sorted. */
export function sdkAssets(): Record<string, string> {
  const root = `${import.meta.dir}/../sdk`;
  const paths = [...new Bun.Glob("svc/**/*").scanSync({ cwd: root })].map((path) => path.replaceAll("\\", "/"));
  const wanted = paths.filter((path) => /\.(py|pyi|typed)$/.test(path) && !path.includes("__pycache__")).sort();
  return Object.fromEntries(wanted.map((path) => [path, readFileSync(`${root}/${path}`, "utf8")]));
}
