/** Choosing skills and the folders of coding agents, and installing the ones in the others. */

import { join } from "node:path";
import { createWireFetch } from "../client/fetch.ts";
import { createProxies } from "../client/proxy.ts";
import { createRedactor } from "../client/redact.ts";
import type { Context } from "../context/context.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { SKILLED_AGENTS } from "./coding-agents.ts";
import { projectFolder } from "./project-folder.ts";
import type { Skill } from "./skill.ts";
import { installedSkills, installSkills, type PlacedFile, removeSkills, type SkillFolder } from "./skill-folder.ts";
import { folderSkills, hostSkills, ownSkills, type SkillSource } from "./skill-source.ts";

/** A coding agent that reads skills. */
export type AgentName = keyof typeof SKILLED_AGENTS;

/** What is to be installed, and where. */
export interface InstallChoice {
  /** Names of skills; empty = the user is asked. */
  readonly skills: readonly string[];
  readonly agents: readonly AgentName[];
  /** Whether the user's own folders of the agents are meant, not the project's. */
  readonly isGlobal: boolean;
  /** A further folder of skills, absolute. */
  readonly path?: string | undefined;
  /**
   * The absolute path of a folder, or a URL, that has the skills; undefined = the program itself.
   */
  readonly from?: string | undefined;
  /** Whether they are removed instead. */
  readonly removes?: boolean;
}

/** Installs or removes skills, and says what became of each file. Throws a CliError. */
export async function installChosen(context: Context, choice: InstallChoice): Promise<readonly PlacedFile[]> {
  const { removes = false } = choice;
  const source = await sourceOf(context, choice.from);
  const folders = await foldersOf(context, choice);
  const names = choice.skills.length > 0 ? [...new Set(choice.skills)] : await askSkills(context, source, removes ? folders : undefined);
  const skills: Skill[] = [];
  for (const name of names) skills.push(await source.load(name));
  return removes ? removeSkills(folders, skills) : installSkills(context.machine, folders, skills);
}

/** Whether a place of skills is a URL, not a folder. */
export function isAddress(from: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(from);
}

async function sourceOf(context: Context, from: string | undefined): Promise<SkillSource> {
  if (from === undefined) return ownSkills();
  if (!isAddress(from)) return folderSkills(from);
  const proxies = createProxies(context.surroundings.env);
  return hostSkills(from, createWireFetch(context, { redactor: createRedactor(), proxies }));
}

async function foldersOf(context: Context, { agents, isGlobal, path }: InstallChoice): Promise<readonly SkillFolder[]> {
  const own = path === undefined ? [] : [{ path, within: path }];
  const chosen = agents.length > 0 || own.length > 0 ? agents : await askAgents(context);
  if (isGlobal) {
    const globals = chosen.map((agent) => SKILLED_AGENTS[agent].global(context.surroundings));
    return [...globals.map((folder) => ({ path: folder, within: folder })), ...own];
  }
  const within = chosen.length > 0 ? await projectFolder(context) : "";
  return [...chosen.map((agent) => ({ path: join(within, SKILLED_AGENTS[agent].project), within })), ...own];
}

const AGENT_FLAGS = Object.keys(SKILLED_AGENTS).map((name) => `--${name}`);

async function askAgents({ prompt }: Context): Promise<readonly AgentName[]> {
  const options = (Object.keys(SKILLED_AGENTS) as AgentName[]).map((name) => ({
    label: name,
    value: name,
    hint: SKILLED_AGENTS[name].project,
  }));
  return prompt.pickMany("Which coding agents are they for?", options, `${AGENT_FLAGS.join(", ")} or --path`);
}

/**
 * The skills that the user picks; of those that are installed in some folders, when they are given.
 */
async function askSkills(
  { prompt }: Context,
  source: SkillSource,
  folders: readonly SkillFolder[] | undefined,
): Promise<readonly string[]> {
  const installed = folders && (await installedSkills(folders));
  const names = source.names.filter((name) => installed?.has(name) ?? true);
  const hint = `Skills: ${source.names.join(", ")}`;
  if (names.length === 0) throw new CliError("none of the skills is installed there", { code: "nothing_there", hint });
  try {
    const options = async () =>
      Promise.all(names.map(async (name) => ({ label: name, value: name, hint: (await source.load(name)).description })));
    return await prompt.pickMany(folders ? "Which skills are to be removed?" : "Which skills are to be installed?", options, "<skill>");
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(error.message, { hint });
    throw error;
  }
}
