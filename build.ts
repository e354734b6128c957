/**
 * Builds `svc`: one binary, or a signed release for every machine. `bun build.ts --help` names the
 * options; the work is in `src/packaging`.
 *
 *   bun build.ts --single      dist/svc for this machine
 *   bun build.ts               dist/v<version>/ for all of them
 */

import manifest from "./package.json" with { type: "json" };
import { build } from "./src/packaging/build.ts";
import { PackagingError } from "./src/packaging/packaging-error.ts";

const cwd = process.cwd();
process.chdir(import.meta.dir);
try {
  await build(process.argv.slice(2), { root: import.meta.dir, cwd, packageVersion: manifest.version, env: process.env });
} catch (error) {
  if (!(error instanceof PackagingError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
