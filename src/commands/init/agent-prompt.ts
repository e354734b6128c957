import { join } from "node:path";
import { publicNames } from "../../agents/baked-public-names.ts";
import { skillTexts } from "../../agents/baked-skills.ts";
import { INSTRUCTION_FILES } from "../../agents/coding-agents.ts";
import { readInstructionFile, withPart } from "../../agents/instruction-file.ts";
import { instructions } from "../../agents/instructions.ts";
import { projectFolder } from "../../agents/project-folder.ts";
import { defineCommand } from "../../cli/command.ts";
import { describeTree } from "../../cli/describe.ts";
import { arg } from "../../cli/flag.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { commandTree } from "../index.ts";

type Provider = keyof typeof INSTRUCTION_FILES;
const PROVIDERS = Object.keys(INSTRUCTION_FILES) as Provider[];

/** The file, and what became of it. */
interface Outcome {
  readonly path: string;
  readonly outcome: "written" | "updated" | "unchanged";
}

export default defineCommand({
  summary: "Write instructions for a coding agent into the project",
  description:
    "Tells a coding agent what the project is, how to work on it, and which commands and names there are: in AGENTS.md for codex, CLAUDE.md for claude, " +
    ".github/copilot-instructions.md for copilot and .augment/rules/svc.md for augment, at the root of the project or, without one, in this folder. All say " +
    "the same. Of a file that is there already only the part between the marks of svc is replaced; without them it is added at the end.",
  examples: ["svc init agent-prompt codex", { run: "svc init agent-prompt claude", does: "CLAUDE.md" }],
  args: { provider: arg("which coding agent", { values: PROVIDERS }) },
  async run(context, { provider }): Promise<Outcome> {
    const summaries = new Map(describeTree(commandTree).commands.map(({ path, summary }) => [path, summary]));
    const part = instructions({ summaries, names: publicNames, skills: Object.keys(skillTexts) });
    const folder = await projectFolder(context);
    const { path, text: before } = await readInstructionFile(join(folder, INSTRUCTION_FILES[provider as Provider]), folder);
    const text = withPart(before ?? "", part, path);
    if (text !== before) await context.machine.writeFile(path, text);
    return { path, outcome: before === undefined ? "written" : text === before ? "unchanged" : "updated" };
  },
  view: textView(({ path, outcome }: Outcome) => {
    const name = escapeControls(path);
    return outcome === "unchanged" ? `${name} is current` : outcome === "written" ? `Wrote ${name}` : `Updated the part of svc in ${name}`;
  }),
});
