/** The requirements of an image, and the files that they name, which its build needs too. */

import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { isRegularFile } from "../../disk/regular-file.ts";
import { RequirementsError, readRequirements } from "../../python/requirements.ts";
import { Failure } from "../failure.ts";
import type { ImageFile } from "./image-spec.ts";

/** Requirements that an image is built with. */
export interface ImageRequirements {
  /** Empty = nothing to install. */
  readonly lines: readonly string[];
  /** Files that they name, relative to the folder that pip runs in. */
  readonly files: readonly ImageFile[];
}

/** Most files of a folder that requirements name. */
const MAX_FILES = 5_000;

/** Reads requirements. Rejects with Failure invalid_argument for what a build cannot install. */
export async function imageRequirements(text: string, root: string | undefined): Promise<ImageRequirements> {
  const refuse = (what: string, hint: string): never => {
    throw new Failure("invalid_argument", what, { hint });
  };
  let given: readonly string[] = [];
  try {
    ({ lines: given } = await readRequirements(text, root));
  } catch (error) {
    if (error instanceof RequirementsError)
      refuse(`The requirements of the image cannot be read: ${error.message}.`, "Name files of the project.");
    throw error;
  }
  const files = new Map<string, ImageFile>();
  const lines = given.map((line) => {
    if (/^(?:-e|--editable)\b/.test(line))
      refuse(`An image is built with '${line}', which is no installation.`, "Leave -e out, and the package is installed.");
    return line
      .split(" ")
      .map((word) => {
        const named = word.replace(/^(--[a-z-]+=)/, "");
        const path = root !== undefined && named.startsWith(`${root}/`) ? `./${relative(root, named)}` : named;
        if (/^(?:\/|file:|~)/.test(path) || path.split("/").includes(".."))
          refuse(
            `The requirements name ${path.slice(0, 200)}, which is no file of the project.`,
            "An image is built with packages and files of the project alone.",
          );
        for (const file of root === undefined ? [] : filesAt(root, path.replace(/^\.\//, "").replace(/\[[^\]]*\]$|\/$/g, "")))
          files.set(file.path, file);
        return word.slice(0, word.length - named.length) + path;
      })
      .join(" ");
  });
  return { lines, files: [...files.values()] };
}

/** A file of the project, or all of a folder; none when a word names neither. */
function filesAt(root: string, path: string): ImageFile[] {
  const source = join(root, path);
  if (path === "" || path.startsWith("-")) return [];
  if (isRegularFile(source)) return [{ path, source }];
  if (!/^[\w./@+-]+$/.test(path) || !path.includes("/")) return [];
  try {
    const entries = readdirSync(source, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    if (entries.length > MAX_FILES)
      throw new Failure("invalid_argument", `The requirements name the folder ${path}, which has more than ${MAX_FILES} files.`);
    return entries.map(({ name, parentPath }) => {
      const file = join(parentPath, name);
      return { path: relative(root, file).replaceAll("\\", "/"), source: file };
    });
  } catch (error) {
    if (error instanceof Failure) throw error;
    return [];
  }
}
