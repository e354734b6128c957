/** `svc mcp`: the platform and the project of a folder for a coding agent that starts it. */

import type { Context } from "../../context/context.ts";
import { PLATFORM_PROMPTS, PROJECT_PROMPTS } from "../../contract/platform-prompts.ts";
import {
  completePlatform,
  deploymentHints,
  INSTRUCTIONS,
  platformResources,
  platformTools,
  resourceChanges,
} from "../../contract/platform-tools.ts";
import { readGuides } from "../../docs/guide-texts.ts";
import type { Offer } from "../../domain/mcp/protocol.ts";
import type { Resources } from "../../domain/mcp/resource.ts";
import { type AnyTool, ToolFailure } from "../../domain/mcp/tool.ts";
import { CliError } from "../../errors/cli-error.ts";
import { type ProjectToolOptions, projectTools } from "./project-tools.ts";
import { serveStdio } from "./stdio.ts";

/** What `svc mcp` is started with. */
export interface AgentOptions extends ProjectToolOptions {
  /** Version of the program. */
  readonly version: string;
}

const IN_A_PROJECT =
  "This server was started in a folder: lint and preview_deployment read the project there. After a change, lint until there are no findings, then deploy to a branch and query it.";

/**
 * Serves a coding agent on the process's streams, with the credentials and the scope of the command
 * line, until it closes stdin.
 */
export async function serveAgent(context: Context, options: AgentOptions): Promise<void> {
  const { api, clock, io, progress, signal } = context;
  const host = { api, now: () => clock.now(), pages: await readGuides(), allowsWrites: options.allowsWrites };
  const resources = readInWords(platformResources(host));
  const offer: Offer = {
    version: options.version,
    instructions: `${INSTRUCTIONS} ${IN_A_PROJECT}`,
    tools: [...projectTools(context, options), ...platformTools(host)].map(inWords),
    resources,
    prompts: [...PROJECT_PROMPTS, ...PLATFORM_PROMPTS],
    complete: (what, begun, ended) => completePlatform(api, what, begun, ended).catch(toFailure),
    resourceChanges: (followed, ended) =>
      resourceChanges(
        { api, resources, followed },
        deploymentHints(api, (ms) => clock.sleep(ms, ended), ended),
        ended,
      ),
    onFault(error) {
      progress.warn(`a tool failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      return "This is a fault in svc. What it printed on stderr says more.";
    },
  };
  await serveStdio(io, offer, signal);
}

/** The tool whose errors for people are failures in words. */
function inWords(tool: AnyTool): AnyTool {
  return { ...tool, call: (args, signal, report) => tool.call(args, signal, report).catch(toFailure) };
}

function readInWords(resources: Resources): Resources {
  return { ...resources, read: (uri, signal) => resources.read(uri, signal).catch(toFailure) };
}

function toFailure(error: unknown): never {
  throw error instanceof CliError ? new ToolFailure(error.message, error.hint) : error;
}
