import { defineCommand } from "../cli/command.ts";
import { args, bool } from "../cli/flag.ts";
import { followPath } from "../cli/resolve.ts";
import { helpTopic, helpView } from "../cli/show-help.ts";
import { categories, commandTree } from "./index.ts";

export default defineCommand({
  summary: "Print help for svc or for one of its commands",
  examples: ["svc help", "svc help apply", { run: "svc help --all --json", does: "the whole tree of commands as data" }],
  args: { command: args("words of a command, for example `server start`") },
  flags: { all: bool("every command; with --json, arguments and flags too") },
  async run(_context, { command, all }) {
    return helpTopic(commandTree, followPath(commandTree, command).path, all);
  },
  view: helpView(commandTree, categories),
});
