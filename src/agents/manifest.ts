/**
 * `SHA256SUMS` of a folder of skills, as `sha256sum` writes it: the digest of every file that may
 * be installed. What it does not list is not there.
 */

import { escapeControls } from "../domain/name.ts";
import { CliError } from "../errors/cli-error.ts";
import { isSkillName, isSkillPath, SKILL_FILE } from "./skill.ts";

/** Name of the manifest in the folder. */
export const MANIFEST = "SHA256SUMS";

const MAX_SKILLS = 500;
/** Most files of one skill. */
const MAX_FILES = 50;

/** A file of a skill, as the manifest lists it. */
export interface ListedFile {
  /** Path in the skill's folder, with `/`. */
  readonly path: string;
  /** SHA-256, lower-case hex. */
  readonly sha256: string;
}

/**
 * The files of each skill by its name. Files beside the skills' folders, and folders without a
 * SKILL.md, are left out. Throws a CliError for a line that is none of `sha256sum`, and for a file
 * of a skill whose path no skill may have: then nothing of the folder is used.
 */
export function readManifest(text: string, from: string): ReadonlyMap<string, readonly ListedFile[]> {
  const skills = new Map<string, ListedFile[]>();
  const seen = new Set<string>();
  const refuse = (line: number, why: string) =>
    new CliError(`${from}, line ${line}: ${why}`, { code: "bad_manifest", hint: "Nothing was installed." });
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line === "") continue;
    const [, sha256 = "", path = ""] = /^([0-9a-fA-F]{64}) [ *](.+)$/.exec(line) ?? [];
    if (path === "") throw refuse(at + 1, "it is no line of sha256sum: a digest of 64 digits, two blanks, and a path");
    const inside = path.replace(/^\.\//, "");
    if (!inside.includes("/")) continue;
    const [name = "", ...rest] = inside.split("/");
    const file = rest.join("/");
    if (!isSkillName(name) || !isSkillPath(file))
      throw refuse(at + 1, `no skill may have a file at '${escapeControls(path.slice(0, 200))}'`);
    if (seen.has(inside.toLowerCase())) throw refuse(at + 1, `'${inside}' is listed twice`);
    seen.add(inside.toLowerCase());
    const files = skills.get(name) ?? [];
    files.push({ path: file, sha256: sha256.toLowerCase() });
    if (files.length > MAX_FILES) throw refuse(at + 1, `the skill ${name} has more than ${MAX_FILES} files`);
    skills.set(name, files);
    if (skills.size > MAX_SKILLS) throw refuse(at + 1, `there are more than ${MAX_SKILLS} skills`);
  }
  return new Map(
    [...skills].filter(([, files]) => files.some(({ path }) => path === SKILL_FILE)).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
