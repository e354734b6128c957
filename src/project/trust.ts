/**
 * Trust in a project by its owner. Checking, deploying and editing a project import its Python
 * code, and the project file is looked for in all folders above, so one that another user has put
 * there is not used unless the user has allowed that. Git has the same rule for work trees
 * (`safe.directory`).
 */

import { lstat, realpath, stat } from "node:fs/promises";
import { delimiter, dirname, resolve } from "node:path";
import { readRegularFile } from "../disk/regular-file.ts";
import { CliError } from "../errors/cli-error.ts";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Environment variable: folders of projects that are used no matter who owns them, separated as in
 * PATH; `*` stands for all.
 */
const TRUSTED_PROJECTS = "SVC_TRUSTED_PROJECTS";

const ROOT_UID = 0;
const LARGEST_PASSWD = 1024 * 1024;

/**
 * A check of the owner: throws the CliError `untrusted_project` when the project file, what it
 * links to, or its folder belongs to neither this user nor root; with sudo, the user who called it
 * counts too. Systems without user ids have nothing to check.
 */
export async function refuseForeign(configPath: string, env: Env): Promise<void> {
  const folder = dirname(configPath);
  const me = process.geteuid?.();
  if (me === undefined) return;
  const own = new Set([ROOT_UID, me, ...(me === ROOT_UID && /^\d+$/.test(env.SUDO_UID ?? "") ? [Number(env.SUDO_UID)] : [])]);
  const owners = [
    { path: configPath, owner: (await lstat(configPath)).uid },
    { path: configPath, owner: (await stat(configPath)).uid },
    { path: folder, owner: (await stat(folder)).uid },
  ];
  const foreign = owners.find(({ owner }) => !own.has(owner));
  if (foreign === undefined || (await isTrusted(folder, env))) return;
  const what = foreign.path === folder ? `The folder of the project file ${configPath}` : `The project file ${configPath}`;
  throw new CliError(`${what} belongs to ${userName(foreign.owner)}, so the project is not used: its Python code would run as you.`, {
    code: "untrusted_project",
    hint: `If you trust it: export ${TRUSTED_PROJECTS}=${folder}\nElse run svc in your own project, or name that with --dir.`,
    details: { file: configPath, owner: foreign.owner },
  });
}

async function isTrusted(folder: string, env: Env): Promise<boolean> {
  const entries = (env[TRUSTED_PROJECTS] ?? "").split(delimiter).filter((entry) => entry !== "");
  if (entries.includes("*")) return true;
  const real = await realpath(folder);
  const trusted = await Promise.all(entries.map((entry) => realpath(resolve(entry)).catch(() => undefined)));
  return trusted.includes(real);
}

/** `user nobody (65534)`, or the number alone for a user that this machine's list does not name. */
function userName(uid: number): string {
  let users = "";
  try {
    users = readRegularFile("/etc/passwd", { maxBytes: LARGEST_PASSWD })?.toString("utf8") ?? "";
  } catch {
    // Not every system lets one look; the number is enough.
  }
  const name = users
    .split("\n")
    .find((line) => line.split(":")[2] === String(uid))
    ?.split(":")[0];
  return name ? `the user ${name} (${uid})` : `another user (${uid})`;
}
