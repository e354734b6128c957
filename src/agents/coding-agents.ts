/** The coding agents that svc writes files for, and where each of them reads. */

import { join } from "node:path";
import type { Surroundings } from "../context/machine.ts";

/** A coding agent that reads skills. */
export interface SkilledAgent {
  /** Its skills folder in a project. */
  readonly project: string;
  /** Its skills folder for all projects of a user. */
  readonly global: (surroundings: Pick<Surroundings, "env" | "homeDir">) => string;
}

/** The agents that read skills, by the name of their flag. */
export const SKILLED_AGENTS = {
  codex: { project: ".agents/skills", global: ({ env, homeDir }) => join(env.CODEX_HOME || join(homeDir, ".codex"), "skills") },
  claude: { project: ".claude/skills", global: ({ homeDir }) => join(homeDir, ".claude/skills") },
  cursor: { project: ".cursor/skills", global: ({ homeDir }) => join(homeDir, ".cursor/skills") },
} as const satisfies Readonly<Record<string, SkilledAgent>>;

/** The file of instructions that each agent reads, from the root of a project. */
export const INSTRUCTION_FILES = {
  codex: "AGENTS.md",
  claude: "CLAUDE.md",
  copilot: ".github/copilot-instructions.md",
  augment: ".augment/rules/svc.md",
} as const;
