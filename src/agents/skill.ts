/** A skill: a folder with a SKILL.md, which says in its front matter what it is for. */

import { isPortableName } from "../domain/portable-name.ts";
import { entryOf, readYaml } from "../domain/yaml-tree.ts";
import { CliError } from "../errors/cli-error.ts";

/** A file of a skill. */
export interface SkillFile {
  /** Path in the skill's folder, with `/`. */
  readonly path: string;
  readonly content: Uint8Array;
}

/** A skill with its files, of which one is SKILL.md. */
export interface Skill {
  readonly name: string;
  /** When to use it, in one line. */
  readonly description: string;
  readonly files: readonly SkillFile[];
}

/** The file that makes a folder a skill. */
export const SKILL_FILE = "SKILL.md";

const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;
/** Most folders above a file of a skill. */
const MAX_DEPTH = 4;

/** Whether a skill may have that name: small letters, digits, and hyphens between them. */
export function isSkillName(name: string): boolean {
  return name.length <= MAX_NAME && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) && isPortableName(name);
}

/**
 * Whether a skill may have a file at that path: nothing hidden, nothing that leads out of its
 * folder, no name that a system reads in another way.
 */
export function isSkillPath(path: string): boolean {
  const parts = path.split("/");
  return parts.length <= MAX_DEPTH && parts.every((part) => part.length <= 100 && /^[\w][\w.-]*$/.test(part) && isPortableName(part));
}

/**
 * The skill of some files. Throws a CliError when its SKILL.md has no front matter with its name
 * and a description.
 */
export function skillOf(name: string, files: readonly SkillFile[]): Skill {
  const file = files.find(({ path }) => path === SKILL_FILE);
  if (!file) throw new CliError(`the skill ${name} has no ${SKILL_FILE}`, { code: "bad_skill" });
  const facts = frontMatter(name, file.content);
  if (facts.name !== name)
    throw new CliError(`${SKILL_FILE} of the skill ${name} does not have its name in the front matter`, { code: "bad_skill" });
  const description = facts.description?.replaceAll(/\s+/g, " ").trim() ?? "";
  if (description === "" || description.length > MAX_DESCRIPTION)
    throw new CliError(`${SKILL_FILE} of the skill ${name} has no description of at most ${MAX_DESCRIPTION} characters`, {
      code: "bad_skill",
    });
  return { name, description, files };
}

function frontMatter(name: string, content: Uint8Array): { readonly name: string | undefined; readonly description: string | undefined } {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    throw new CliError(`${SKILL_FILE} of the skill ${name} is no UTF-8 text`, { code: "bad_skill" });
  }
  const block = /^---\r?\n([\s\S]*?)\r?\n---\r?\n/.exec(text)?.[1];
  const root = block === undefined ? undefined : readYaml(block).root;
  if (root?.kind !== "map")
    throw new CliError(`${SKILL_FILE} of the skill ${name} has no front matter between two lines of ---`, { code: "bad_skill" });
  const member = (key: string): string | undefined => {
    const value = entryOf(root, key)?.value;
    return value?.kind === "scalar" && typeof value.value === "string" ? value.value : undefined;
  };
  return { name: member("name"), description: member("description") };
}
