/** Requirements files: what is installed, and what two equal ones have in common. */

import { createHash } from "node:crypto";
import { isAbsolute, join, relative, resolve } from "node:path";
import { DiskError } from "../disk/disk-error.ts";
import { readRegularFile } from "../disk/regular-file.ts";

/** Requirements ready to be installed. */
export interface Requirements {
  /** One requirement or option a line, without comments and without the SDK itself. Empty = nothing to install. */
  readonly lines: readonly string[];
  /** SHA-256, hex, of the lines and of the constraint files they name. */
  readonly sha256: string;
}

/** The requirements cannot be read: a file they include is missing or lies outside the project. */
export class RequirementsError extends Error {
  override readonly name = "RequirementsError";
}

/** Largest included file, in bytes. */
const LARGEST_FILE = 1024 * 1024;
const SDK_LINE = /^svc\s*(\[[^\]]*\]\s*)?($|[<>=!~@;(])/i;
const INCLUDE = /^(?:-r|--requirement)(?:\s+|=)?(.+)$/;
const CONSTRAINT = /^(?:-c|--constraint)(?:\s+|=)?(.+)$/;

/**
 * Reads requirements text: comments, blank lines and lines that name the SDK are dropped (the binary carries it), continued lines are joined, and
 * files included with `-r` are put in place. Included and constraint files are looked up in `root`. Throws RequirementsError.
 */
export async function readRequirements(text: string, root: string | undefined): Promise<Requirements> {
  const hash = createHash("sha256");
  const lines: string[] = [];
  const visit = async (content: string, folder: string | undefined, depth: number): Promise<void> => {
    for (const line of logicalLines(content)) {
      const include = INCLUDE.exec(line)?.[1]?.trim();
      const constraint = CONSTRAINT.exec(line)?.[1]?.trim();
      if (include) {
        if (depth > 10) throw new RequirementsError(`requirements include each other: '-r ${include}'`);
        const path = projectPath(include, folder, root);
        await visit(readIncluded(path, include), resolve(path, ".."), depth + 1);
      } else if (constraint) {
        const path = projectPath(constraint, folder, root);
        hash.update(`constraint\0${logicalLines(readIncluded(path, constraint)).join("\n")}\0`);
        lines.push(`-c ${path}`);
      } else if (!SDK_LINE.test(line)) {
        hash.update(`${line}\0`);
        lines.push(line);
      }
    }
  };
  await visit(text, root, 0);
  return { lines, sha256: hash.digest("hex") };
}

function logicalLines(text: string): string[] {
  return text
    .replace(/^\uFEFF/, "")
    .replace(/\\\r?\n/g, " ")
    .split(/\r?\n/)
    .map((line) =>
      line
        .replace(/(^|\s)#.*$/, "")
        .replace(/\s+/g, " ")
        .trim(),
    )
    .filter((line) => line !== "");
}

function projectPath(path: string, folder: string | undefined, root: string | undefined): string {
  if (isAbsolute(path)) return path;
  if (folder === undefined || root === undefined)
    throw new RequirementsError(`requirements name the file '${path}', but there is no project folder`);
  const absolute = join(folder, path);
  if (relative(root, absolute).startsWith(".."))
    throw new RequirementsError(`requirements name the file '${path}', which is outside the project`);
  return absolute;
}

function readIncluded(path: string, name: string): string {
  try {
    const text = readRegularFile(path, { maxBytes: LARGEST_FILE })?.toString("utf8");
    if (text !== undefined) return text;
  } catch (error) {
    if (error instanceof DiskError) throw new RequirementsError(`requirements name the file '${name}': ${error.message}`);
    throw error;
  }
  throw new RequirementsError(`requirements name the file '${name}', which is not among the project's files`);
}
