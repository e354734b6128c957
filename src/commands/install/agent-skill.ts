import { type AgentName, installChosen, isAddress } from "../../agents/install.ts";
import { defineCommand } from "../../cli/command.ts";
import { args, bool, path, text } from "../../cli/flag.ts";
import { absolutePath } from "../../cli/value.ts";
import { placedFilesView } from "./agent-skill-view.ts";

export default defineCommand({
  summary: "Install skills for coding agents",
  description:
    "A skill is a guide for one kind of work, which a coding agent reads when it has that to do. The program carries some; --from takes others, from a folder " +
    "or a host that serves one, as a repository does: folders with a SKILL.md, and above them SHA256SUMS with the digest of every file, as sha256sum writes it. " +
    "A file with another digest is refused, and then nothing is installed. Skills go into the project, with --global into your own folders. Run again, it " +
    "writes what has changed.",
  examples: [
    { run: "svc install agent-skill", does: "Choose on a terminal: type to filter, Tab selects, Enter goes on" },
    "svc install agent-skill write-features debug-a-query --claude",
    { run: "svc install agent-skill write-features --codex --global", does: "For all of your projects" },
    { run: "svc install agent-skill our-conventions --from ../skills --cursor", does: "A skill of your own" },
    { run: "svc install agent-skill write-features --claude --delete", does: "Remove it" },
  ],
  args: { skill: args("names of skills; without any you are asked on a terminal") },
  flags: {
    agent1: bool("or --codex: .agents/skills, with --global $CODEX_HOME/skills", { aliases: ["--codex"] }),
    agent2: bool("or --claude: .claude/skills, with --global ~/.claude/skills", { aliases: ["--claude"] }),
    agent3: bool("or --cursor: .cursor/skills, with --global ~/.cursor/skills", { aliases: ["--cursor"] }),
    path: path("also install under this skills folder", { placeholder: "<folder>" }),
    global: bool("your own folders of these agents, not the project's"),
    from: text("folder or URL that has the skills", { placeholder: "<folder or url>", defaultText: "this program" }),
    delete: bool("remove the files of the skills, and the folders of theirs that are empty then"),
  },
  run(context, { skill, agent1: codex, agent2: claude, agent3: cursor, path: folder, global: isGlobal, from: given, delete: removes }) {
    const { flags, surroundings } = context;
    const from = given === undefined || isAddress(given) ? given : absolutePath(given, { dir: flags.dir, homeDir: surroundings.homeDir });
    const agents = Object.entries({ codex, claude, cursor }).flatMap(([name, isMeant]) => (isMeant ? [name as AgentName] : []));
    return installChosen(context, { skills: skill, agents, isGlobal, path: folder, from, removes });
  },
  view: placedFilesView,
});
