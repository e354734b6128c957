/** The small texts that configure a project: the project file, ignore files, requirements. */

import { DiskError } from "../disk/disk-error.ts";
import { readRegularFile } from "../disk/regular-file.ts";
import { CliError } from "../errors/cli-error.ts";

/** Longest such text, in bytes. */
export const LARGEST_TEXT = 1024 * 1024;

/**
 * The text; undefined when there is none, or a folder of that name. Throws a CliError when it is no
 * plain file, too long, or cannot be read.
 */
export function readTextFile(path: string): string | undefined {
  try {
    return readRegularFile(path, { maxBytes: LARGEST_TEXT })?.toString("utf8");
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    if (error.code === "is_a_folder") return undefined;
    throw new CliError(error.message, { code: error.code, hint: error.hint, cause: error });
  }
}
