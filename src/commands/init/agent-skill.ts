import { installChosen } from "../../agents/install.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { placedFilesView } from "../install/agent-skill-view.ts";

export default defineCommand({
  summary: "Install skills for claude, for all of your projects",
  description: "The same as svc install agent-skill --claude --global, which installs for other agents and in projects too.",
  examples: [{ run: "svc init agent-skill", does: "Choose on a terminal" }, "svc init agent-skill write-features"],
  args: { skill: optionalArg("name of a skill; without one you are asked on a terminal") },
  run: (context, { skill }) => installChosen(context, { skills: skill === undefined ? [] : [skill], agents: ["claude"], isGlobal: true }),
  view: placedFilesView,
});
