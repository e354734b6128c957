/** Folders of state that belong to the user: `$SVC_HOME`, default `~/.svc`. */

import { join, resolve } from "node:path";
import type { Surroundings } from "../context/machine.ts";

/**
 * The folder of all state of the user: tokens, virtual environments, the embedded server's data.
 */
export function svcHome(surroundings: Pick<Surroundings, "env" | "homeDir">): string {
  const { env, homeDir } = surroundings;
  return env.SVC_HOME ? resolve(env.SVC_HOME) : join(homeDir, ".svc");
}

/** The folder of cached tokens. */
export function tokenCacheDir(surroundings: Pick<Surroundings, "env" | "homeDir">): string {
  return join(svcHome(surroundings), "cache");
}

/** The folder of the embedded server's data, unless `--data-dir` names another one. */
export function serverDataDir(surroundings: Pick<Surroundings, "env" | "homeDir">): string {
  return join(svcHome(surroundings), "data");
}

/** The folder of HTML files that redirect a browser to an address which contains a code. */
export function browserFilesDir(surroundings: Pick<Surroundings, "env" | "homeDir">): string {
  return join(svcHome(surroundings), "browser");
}
