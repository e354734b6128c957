/** The identity of the sources. */

import { readFileSync } from "node:fs";

let known: string | undefined;

/**
 * SHA-256, in hex, of the sources of svc and the versions of its dependencies: results computed by
 * other sources may differ. A run from source reads them when it is first asked for.
 */
export function sourceFingerprint(): string {
  known ??= fingerprint();
  return known;
}

function fingerprint(): string {
  const root = `${import.meta.dir}/../..`;
  const hash = new Bun.CryptoHasher("sha256").update(readFileSync(`${root}/bun.lock`));
  for (const folder of ["src", "gen"]) {
    const paths = [...new Bun.Glob("**/*.{ts,py}").scanSync({ cwd: `${root}/${folder}` })].map((path) => path.replaceAll("\\", "/")).sort();
    for (const path of paths) hash.update(`${folder}/${path}\0${Bun.hash(readFileSync(`${root}/${folder}/${path}`))}\0`);
  }
  return hash.digest("hex");
}
