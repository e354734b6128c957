/** Watch mode: a new deployment of a branch on every change of the project. */

import type { Context } from "../context/context.ts";
import { turns } from "../domain/wakeup.ts";
import { CliError } from "../errors/cli-error.ts";
import { loadProject } from "../project/load.ts";
import { type ApplyEvent, type DeployOptions, deploy } from "./deploy.ts";

const DEBOUNCE_MS = 100;

/**
 * Deploys, and again whenever uploaded files change, until interrupted. Only the first deployment
 * asks. Errors of the project or the server are shown, and the next change is awaited.
 */
export async function* deployOnChange(context: Context, options: DeployOptions): AsyncGenerator<ApplyEvent, void, undefined> {
  const { progress, signal } = context;
  const { root } = await context.project();
  let deployed = "";
  let current = options;
  const changes = turns(signal, (wake, until) => context.machine.watch(root, wake, { signal: until, debounceMs: DEBOUNCE_MS }));
  for await (const _ of changes) {
    const project = await loadProject(root, context.surroundings).catch((error) => reportError(context, error));
    const fingerprint = project ? (await project.bundle().catch(() => undefined))?.sha256 : undefined;
    if (!project || fingerprint === deployed) continue;
    deployed = fingerprint ?? "";
    try {
      yield* deploy({ ...context, project: async () => project }, { ...current, await: true });
      current = { ...current, force: true };
    } catch (error) {
      if (!(error instanceof CliError) || error.code === "aborted" || error.exitCode === 4 || signal.aborted) throw error;
      reportError(context, error);
    }
    progress.note(`Watching ${root} for changes; Ctrl-C stops.`);
  }
}

function reportError({ flags, io }: Context, error: unknown): undefined {
  if (!(error instanceof CliError)) throw error;
  const { code, message, hint, details } = error;
  io.writeErr(flags.json ? `${JSON.stringify({ error: { code, message, details } })}\n` : `Error: ${message}\n${hint ? `${hint}\n` : ""}`);
  return undefined;
}
