/** Requirements files: the lines to install, and the hash by which equal ones are recognized. */

import { createHash } from "node:crypto";
import { isAbsolute, join, relative, resolve } from "node:path";
import { DiskError } from "../disk/disk-error.ts";
import { readRegularFile } from "../disk/regular-file.ts";

/** Requirements ready to be installed. */
export interface Requirements {
  /**
   * One requirement or option per line, without comments and without the SDK itself. Empty means
   * nothing to install.
   */
  readonly lines: readonly string[];
  /** The position of each of the lines in the project. */
  readonly locations: readonly RequirementLocation[];
  /** SHA-256, in hex, of the lines and of the constraint files that they name. */
  readonly sha256: string;
}

/** The position of a requirement. */
export interface RequirementLocation {
  /**
   * Relative to the project's folder, with `/`; undefined for a text whose file name is unknown.
   */
  readonly file: string | undefined;
  /** 1-based. */
  readonly line: number;
}

/** Unreadable requirements: an included file is missing or outside the project. */
export class RequirementsError extends Error {
  override readonly name = "RequirementsError";
}

/** Largest included file, in bytes. */
const MAX_FILE_BYTES = 1024 * 1024;
const SDK_LINE = /^svc\s*(\[[^\]]*\]\s*)?($|[<>=!~@;(])/i;
const INCLUDE = /^(?:-r|--requirement)(?:\s+|=)?(.+)$/;
const CONSTRAINT = /^(?:-c|--constraint)(?:\s+|=)?(.+)$/;

/**
 * Parses requirements text: drops comments, blank lines and lines that name the SDK (the binary
 * carries it), joins continued lines, and inserts files included with `-r`. Included and constraint
 * files are looked up in `root`. Throws RequirementsError.
 * @param file the path of the text's own file, relative to `root`
 */
export async function readRequirements(text: string, root: string | undefined, file?: string): Promise<Requirements> {
  const hash = createHash("sha256");
  const lines: string[] = [];
  const places: RequirementLocation[] = [];
  const visit = async (content: string, folder: string | undefined, name: string | undefined, depth: number): Promise<void> => {
    for (const { text: line, at } of logicalLines(content)) {
      const add = (kept: string): void => {
        lines.push(kept);
        places.push({ file: name, line: at });
      };
      const include = INCLUDE.exec(line)?.[1]?.trim();
      const constraint = CONSTRAINT.exec(line)?.[1]?.trim();
      if (include) {
        if (depth > 10) throw new RequirementsError(`requirements include each other: '-r ${include}'`);
        const path = projectPath(include, folder, root);
        const inProject = root === undefined ? include : relative(root, path).replaceAll("\\", "/");
        await visit(readIncluded(path, include), resolve(path, ".."), inProject, depth + 1);
      } else if (constraint) {
        const path = projectPath(constraint, folder, root);
        hash.update(
          `constraint\0${logicalLines(readIncluded(path, constraint))
            .map(({ text: limit }) => limit)
            .join("\n")}\0`,
        );
        add(`-c ${path}`);
      } else if (!SDK_LINE.test(line)) {
        hash.update(`${line}\0`);
        add(line);
      }
    }
  };
  await visit(text, root, file, 0);
  return { lines, locations: places, sha256: hash.digest("hex") };
}

/**
 * The lines of a requirements file without comments, with continued lines joined, each with the
 * number of its first line.
 */
function logicalLines(content: string): { readonly text: string; readonly at: number }[] {
  let next = 1;
  return content
    .replace(/^\uFEFF/, "")
    .split(/(?<!\\|\\\r)\r?\n/)
    .flatMap((joined) => {
      const parts = joined.split(/\\\r?\n/);
      const at = next;
      next += parts.length;
      const text = parts
        .join(" ")
        .replace(/(^|\s)#.*$/, "")
        .replace(/\s+/g, " ")
        .trim();
      return text === "" ? [] : [{ text, at }];
    });
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
    const text = readRegularFile(path, { maxBytes: MAX_FILE_BYTES })?.toString("utf8");
    if (text !== undefined) return text;
  } catch (error) {
    if (error instanceof DiskError) throw new RequirementsError(`requirements name the file '${name}': ${error.message}`);
    throw error;
  }
  throw new RequirementsError(`requirements name the file '${name}', which is not among the project's files`);
}
