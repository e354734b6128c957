import { serveAgent } from "../agents/mcp/serve.ts";
import { buildInfo } from "../build-info.ts";
import { defineCommand } from "../cli/command.ts";
import { bool } from "../cli/flag.ts";
import { UsageError } from "../errors/cli-error.ts";
import { plainStyle } from "../output/style.ts";
import { textView } from "../output/view.ts";
import { diffText } from "./apply/diff-view.ts";

export default defineCommand({
  summary: "Serve coding agents over the Model Context Protocol",
  category: "Build and deploy",
  description:
    "Speaks the Model Context Protocol on stdin and stdout until the agent closes stdin, with your credentials and permissions, for the project of the " +
    "folder and the environment of --environment and --branch. Tools read features, resolvers, runs and logs, ask queries and lint; what a query computes is " +
    "not written to the online store. With --allow-writes the agent may also deploy to branches and run resolvers there, never in the environment itself. " +
    "A server speaks the same protocol over HTTP at /mcp, to callers with a token.",
  examples: [
    { run: "svc mcp", does: "What a coding agent starts: command svc, argument mcp" },
    { run: "svc mcp --environment staging", does: "For one environment" },
    { run: "svc mcp --allow-writes", does: "Let the agent deploy to branches" },
  ],
  flags: { allowWrites: bool("let the agent deploy to branches and run resolvers there") },
  check(_, { flags }) {
    if (flags.json) throw new UsageError("svc mcp speaks JSON already, and has no --json");
  },
  run: (context, { allowWrites }) =>
    serveAgent(context, { version: buildInfo.version, allowsWrites: allowWrites, diffText: (plan) => diffText(plan, plainStyle()) }),
  view: textView(() => ""),
});
