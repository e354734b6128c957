/** Programs on PATH: finding them, and replacing this process with one. */

import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { systemCode, systemWords } from "../disk/disk-error.ts";
import { searchFolders } from "../domain/search-path.ts";
import { CliError } from "../errors/cli-error.ts";
import type { Program, Surroundings } from "./machine.ts";

/**
 * The programs whose names begin with a prefix, sorted by name: those in the absolute folders of
 * PATH, the first one of each name. On Windows an `.exe`.
 */
export function programsOnPath(prefix: string, { env, platform }: Pick<Surroundings, "env" | "platform">): Program[] {
  const found = new Map<string, string>();
  for (const folder of searchFolders(env.PATH ?? env.Path, delimiter)) {
    for (const file of filesOf(folder)) {
      const name = platform === "win32" ? /^(.*)\.exe$/i.exec(file)?.[1]?.toLowerCase() : file;
      if (name?.startsWith(prefix) && !found.has(name) && isProgram(join(folder, file))) found.set(name, join(folder, file));
    }
  }
  return [...found].map(([name, path]) => ({ name, path })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function filesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * The hint when an executable file cannot be started: the interpreter that its first line names is
 * missing, or it names none.
 */
const INTERPRETER_HINT = "Its first line must name the program that runs it, such as #!/bin/sh.";

/**
 * Replaces this process with another program, which gets the arguments, the streams, the
 * environment and every signal, and whose exit code is that of the process. Windows cannot do this;
 * there the program is awaited and its exit code returned. Throws CliError when it cannot be
 * started.
 */
export async function becomeProgram(
  path: string,
  words: readonly string[],
  { env, platform }: Pick<Surroundings, "env" | "platform">,
): Promise<number> {
  try {
    if (platform === "win32") return await Bun.spawn([path, ...words], { env, stdio: ["inherit", "inherit", "inherit"] }).exited;
    // The runtime would warn the user that its execve is experimental.
    process.removeAllListeners("warning");
    throw process.execve?.(path, [path, ...words], { ...env });
  } catch (error) {
    const hint = ["ENOEXEC", "ENOENT"].includes(systemCode(error) ?? "") ? INTERPRETER_HINT : undefined;
    throw new CliError(`cannot start ${path}: ${systemWords(error) ?? error}`, { code: "program_unusable", hint, cause: error });
  }
}
