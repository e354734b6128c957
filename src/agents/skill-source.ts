/**
 * Where skills come from: the binary, a folder, or a host that serves such a folder, as a
 * repository of files does. What comes from elsewhere is taken only with the digests of the
 * folder's manifest.
 */

import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { type Endpoint, NetworkError, readBody, type WireFetch } from "../client/fetch.ts";
import { isLoopback } from "../config/address.ts";
import { readRegularFile } from "../disk/regular-file.ts";
import { didYouMean } from "../domain/closest.ts";
import { escapeControls } from "../domain/name.ts";
import { CliError } from "../errors/cli-error.ts";
import { type ListedFile, MANIFEST, readManifest } from "./manifest.ts";
import { SKILL_FILE, type Skill, skillOf } from "./skill.ts";

const MAX_MANIFEST_BYTES = 1024 * 1024;
const MAX_FILE_BYTES = 256 * 1024;
/** Most bytes of all files of a skill. */
const MAX_SKILL_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** A place that has skills. */
export interface SkillSource {
  /** The names of its skills, sorted. */
  readonly names: readonly string[];
  /**
   * A skill with its files. Throws a CliError when it is damaged, and for a name that is not there.
   */
  load(name: string): Promise<Skill>;
}

/** The skills that the binary carries. */
export async function ownSkills(): Promise<SkillSource> {
  const { skillTexts } = await import("./baked-skills.ts");
  const names = Object.keys(skillTexts);
  return {
    names,
    async load(name) {
      if (!names.includes(name)) throw unknownSkill(name, names);
      return skillOf(name, [{ path: SKILL_FILE, content: new TextEncoder().encode(skillTexts[name]) }]);
    },
  };
}

/** The skills of a folder. Throws a CliError when it has no manifest, or a wrong one. */
export async function folderSkills(folder: string): Promise<SkillSource> {
  const root = await realpath(folder).catch(() => undefined);
  if (root === undefined) throw new CliError(`${folder} is not there`, { code: "no_skills" });
  return listedSkills(folder, async (path, maxBytes) => {
    const file = join(root, path);
    const real = await realpath(file).catch(() => undefined);
    if (real !== undefined && real !== file)
      throw new CliError(`${file} is a link, or below one: skills are plain files`, { code: "bad_skill" });
    return readRegularFile(file, { maxBytes, followLinks: false });
  });
}

/**
 * The skills of a folder that a host serves, below a URL of https, or of http on this machine.
 * Throws a CliError when it has no manifest, or a wrong one.
 */
export async function hostSkills(address: string, fetch: WireFetch): Promise<SkillSource> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (
    !url ||
    url.username ||
    url.password ||
    url.search ||
    url.hash ||
    !(url.protocol === "https:" || (url.protocol === "http:" && isLoopback(address)))
  )
    throw new CliError(`'${escapeControls(address)}' is no address of skills`, {
      code: "bad_address",
      hint: "Write it as https://host/path, without a user, a query and a fragment.",
    });
  const base = url.href.replace(/\/+$/, "");
  const endpoint: Endpoint = { url: base, what: "host of skills", source: { kind: "flag", name: "--from" } };
  return listedSkills(base, async (path, maxBytes) => {
    const request = {
      method: "GET",
      url: `${base}/${path}`,
      headers: new Headers(),
      timeoutMs: TIMEOUT_MS,
      followRedirects: true,
    } as const;
    const response = await fetch(endpoint, request).catch((error: unknown) => {
      throw error instanceof NetworkError ? new CliError(error.message, { code: error.code, hint: ELSEWHERE, cause: error }) : error;
    });
    if (response.status === 404 || response.status === 410) return undefined;
    if (!response.ok) throw new CliError(`${request.url} answered with HTTP status ${response.status}`, { code: "skills_unreachable" });
    return readBody(response, endpoint, request, maxBytes);
  });
}

const ELSEWHERE = "Check the address, or bring the folder here and name it with --from.";

/** Reads a file of a folder of at most so many bytes; undefined when it is not there. */
type ReadFile = (path: string, maxBytes: number) => Promise<Uint8Array | undefined>;

async function listedSkills(where: string, read: ReadFile): Promise<SkillSource> {
  const manifest = await read(MANIFEST, MAX_MANIFEST_BYTES);
  if (!manifest)
    throw new CliError(`${where} has no ${MANIFEST}`, {
      code: "no_skills",
      hint: `Skills are folders with a ${SKILL_FILE}; in the folder above them: sha256sum */${SKILL_FILE} > ${MANIFEST}`,
    });
  const skills = readManifest(new TextDecoder().decode(manifest), `${where}/${MANIFEST}`);
  if (skills.size === 0) throw new CliError(`${where}/${MANIFEST} lists no skill: no folder with a ${SKILL_FILE}`, { code: "no_skills" });
  const names = [...skills.keys()];
  return {
    names,
    async load(name) {
      const listed = skills.get(name);
      if (!listed) throw unknownSkill(name, names);
      const files: { path: string; content: Uint8Array }[] = [];
      let bytes = 0;
      for (const { path, sha256 } of listed) {
        const content = await checked(where, name, { path, sha256 }, read);
        bytes += content.length;
        if (bytes > MAX_SKILL_BYTES)
          throw new CliError(`the skill ${name} has more than ${MAX_SKILL_BYTES / 1024} KiB`, { code: "bad_skill" });
        files.push({ path, content });
      }
      return skillOf(name, files);
    },
  };
}

/** A file whose digest is the manifest's. Throws a CliError. */
async function checked(where: string, name: string, { path, sha256 }: ListedFile, read: ReadFile): Promise<Uint8Array> {
  const content = await read(`${name}/${path}`, MAX_FILE_BYTES);
  if (!content)
    throw new CliError(`${where}/${name}/${path} is not there, although ${MANIFEST} lists it`, { code: "bad_skill", hint: NOTHING_DONE });
  const found = createHash("sha256").update(content).digest("hex");
  if (found === sha256) return content;
  throw new CliError(`${where}/${name}/${path} is not what ${MANIFEST} lists: its SHA-256 is ${found}`, {
    code: "bad_digest",
    hint: NOTHING_DONE,
  });
}

const NOTHING_DONE = "Nothing was installed.";

function unknownSkill(name: string, names: readonly string[]): CliError {
  const near = didYouMean(name, names);
  return new CliError(`there is no skill '${escapeControls(name)}'${near && `; ${near}`}`, {
    code: "no_such_skill",
    hint: `Skills: ${names.join(", ")}`,
  });
}
