/**
 * What the first use of Python in a home makes alike for every test: the unpacked SDK with its
 * bytecode, and the empty virtual environment. Tests whose subject is not that first use share one
 * of each, below `dist/`.
 */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createToolchain } from "../../src/python/create-toolchain.ts";
import { removeAtEnd } from "./end-of-process.ts";

const SHARED = join(import.meta.dir, "../../dist/test-home");
/** What a complete virtual environment has; see `src/python/venv.ts`. */
const COMPLETE = ".svc-complete";
/** Where a home keeps analyses of projects. */
const ANALYSES = join("cache", "analyses");

/**
 * Makes the shared environments of the interpreters that tests find: with this user's home, where a
 * version manager may have some, and without. Never throws: without them each home makes its own.
 */
export async function prepareFirstUse({ PATH, HOME = SHARED }: Readonly<Record<string, string | undefined>>): Promise<void> {
  for (const homeDir of [HOME, SHARED])
    await createToolchain({ home: SHARED, env: { PATH, HOME: homeDir } })
      .environmentPython({})
      .catch(() => undefined);
}

/**
 * Links the shared parts into a home, `$SVC_HOME`, that has none of its own yet. What is named by
 * its content alone is shared; environments with requirements never are.
 */
export function shareFirstUse(home: string): void {
  if (existsSync(join(home, "sdk")) || existsSync(join(home, "venvs"))) return;
  const [sdk, venvs] = ["sdk", "venvs"].map((name) => join(SHARED, name)) as [string, string];
  for (const folder of [sdk, venvs, join(home, "venvs")]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  symlinkSync(sdk, join(home, "sdk"));
  for (const name of readdirSync(venvs))
    if (existsSync(join(venvs, name, COMPLETE))) symlinkSync(join(venvs, name), join(home, "venvs", name));
}

let processHome: string | undefined;

/**
 * The home of this process's servers whose subject is not what a home keeps: the interpreter is
 * looked for once, and a project that several tests deploy is analyzed once. Removed with the
 * process.
 */
export function sharedHome(): string {
  if (processHome !== undefined) return processHome;
  const home = mkdtempSync(join(tmpdir(), "svc-shared-home-"));
  removeAtEnd(home);
  shareFirstUse(home);
  processHome = home;
  return home;
}

/** Links into a home what `shareFirstUse` does, and the analyses of this process. */
export function shareAnalyses(home: string): void {
  shareFirstUse(home);
  const shared = join(sharedHome(), ANALYSES);
  if (existsSync(join(home, ANALYSES))) return;
  for (const folder of [shared, dirname(join(home, ANALYSES))]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  symlinkSync(shared, join(home, ANALYSES));
}
