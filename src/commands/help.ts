import { defineCommand } from "../cli/command.ts";
import { listExtensions } from "../cli/extension.ts";
import { args, bool } from "../cli/flag.ts";
import { followPath, mayNameExtension } from "../cli/resolve.ts";
import { helpTopic, helpView } from "../cli/show-help.ts";
import { UsageError } from "../errors/cli-error.ts";
import { categories, commandTree } from "./index.ts";

export default defineCommand({
  summary: "Print help for svc or for one of its commands",
  examples: ["svc help", "svc help apply", { run: "svc help --all --json", does: "the whole tree of commands as data" }],
  args: { command: args("words of a command, for example `server start`") },
  flags: { all: bool("every command; with --json, arguments and flags too") },
  async run({ machine }, { command, all }) {
    const [word] = command;
    if (mayNameExtension(commandTree, word) && (await listExtensions(commandTree, machine)).some(({ name }) => name === word))
      throw new UsageError(`'svc ${word}' is an extension, which has its own help`, { hint: `Run \`svc ${word} --help\`.` });
    return helpTopic(commandTree, followPath(commandTree, command).path, { all, machine: async () => machine });
  },
  view: helpView(commandTree, categories),
});
