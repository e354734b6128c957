/** The folder that files for coding agents belong to. */

import { dirname } from "node:path";
import type { Context } from "../context/context.ts";
import { CliError } from "../errors/cli-error.ts";

/**
 * The root of the project above the command's folder; without a project that folder. Throws the
 * CliError `untrusted_project`.
 */
export async function projectFolder({ flags, surroundings }: Pick<Context, "flags" | "surroundings">): Promise<string> {
  const { projectFileOf } = await import("../project/load.ts");
  try {
    return dirname(await projectFileOf(flags.dir, { env: surroundings.env }));
  } catch (error) {
    if (error instanceof CliError && error.code === "no_project") return flags.dir;
    throw error;
  }
}
