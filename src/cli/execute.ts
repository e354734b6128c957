/**
 * Execution of one command: parse and check, then the command's life cycle, which citty runs:
 * preconditions, run, render.
 */

import { runCommand } from "citty";
import type { Context } from "../context/context.ts";
import { isLoopbackHost } from "../domain/ip-address.ts";
import { visibleLines } from "../domain/visible.ts";
import { AuthError, isUnanswered, OutputClosedError, UsageError } from "../errors/cli-error.ts";
import { exitCodes } from "../errors/exit-codes.ts";
import { type JsonWriter, jsonWriter } from "../output/json-writer.ts";
import { isStream, render } from "../output/render.ts";
import { showsLinks } from "../output/style.ts";
import type { AnyCommand, FlagSpecs, Need, TreeEntry } from "./command.ts";
import { SECRETS, toGlobalFlags } from "./globals.ts";
import { normalizeFlag } from "./name.ts";
import { type Parsed, parse } from "./parse.ts";
import { type Resolved, unknownCommand } from "./resolve.ts";
import { type Deps, hasFlag } from "./run.ts";
import { showHelp } from "./show-help.ts";

/** Loads and runs the command. Resolves with its exit code; rejects with the command's error. */
export async function execute(resolved: Resolved, load: NonNullable<TreeEntry["load"]>, deps: Deps): Promise<number> {
  const { path, before, after } = resolved;
  const command: AnyCommand = (await load()).default;
  const own = new Set(Object.values((command.flags ?? {}) as FlagSpecs).flatMap((flag) => flag.aliases.map(normalizeFlag)));
  const words = [...before, ...after];
  if (
    hasFlag(
      words,
      ["--help", "-h"].filter((word) => !own.has(word)),
    )
  ) {
    await showHelp(path, command, words, deps);
    return exitCodes.ok;
  }
  const parsed = parseWords(resolved, command, deps);
  const flags = toGlobalFlags(parsed.globals, { env: deps.surroundings.env, dir: parsed.dir });
  const first = await deps.createContext(flags);
  for (const warning of parsed.warnings) first.progress.warn(warning);
  command.check?.(parsed.input, first);
  const context = await withSecrets(first, deps);
  const { result } = await runCommand(
    {
      meta: { name: path.join(" "), description: command.summary },
      setup: () => checkNeeds(command.needs ?? [], context),
      run: () => runAndShow(command, parsed, context, deps),
    },
    { rawArgs: [...parsed.canonical] },
  );
  return result as number;
}

/**
 * Runs the command and shows its data, whole or item by item. Resolves with the exit code, which is
 * the same for data that nobody reads to its end.
 */
async function runAndShow(command: AnyCommand, { input }: Parsed, context: Context, deps: Deps): Promise<number> {
  const { json, color } = context.flags;
  const { env } = deps.surroundings;
  const writer = json ? await writerOf(context, deps) : undefined;
  const data = await command.run(context, input);
  const shown = render(data, command.view, deps.io, {
    json,
    writer,
    color,
    links: showsLinks(env),
    now: deps.now(),
    signal: deps.signal,
    mayEndAfter: command.mayEndAfter,
    page: context.page,
  });
  await shown.catch((error: unknown) => {
    if (isStream(data) || !(error instanceof OutputClosedError)) throw error;
  });
  if (isStream(data)) deps.signal.throwIfAborted();
  return command.exitCode && !isStream(data) ? command.exitCode(data) : exitCodes.ok;
}

/** The writer of the JSON that the flags ask for. Rejects with UsageError. */
function writerOf({ flags, io, machine }: Context, { interruptible }: Deps): Promise<JsonWriter> {
  return jsonWriter(flags.shape, {
    interruptible: interruptible ?? ((work) => work()),
    shown: io.stdoutIsTTY ? visibleLines : (text) => text,
    readTemplate: async (path) => {
      const bytes = await machine.readBytes(path);
      if (bytes === undefined) throw new UsageError(`there is no file ${path}`);
      return new TextDecoder().decode(bytes);
    },
  });
}

/** The context with the secret that a flag's `-` reads from stdin. Stdin can hold only one. */
async function withSecrets(context: Context, deps: Deps): Promise<Context> {
  const { flags, prompt } = context;
  const asked = Object.entries(SECRETS).filter(([key]) => flags[key as keyof typeof SECRETS] === "-");
  const [secret, another] = asked;
  if (secret === undefined) return context;
  if (another) throw new UsageError(`the ${secret[1]} and the ${another[1]} cannot both be read from stdin`);
  const [key, name] = secret;
  return deps.createContext({ ...flags, [key]: await prompt.secret(name) });
}

function parseWords({ path, entry, before, after }: Resolved, command: AnyCommand, deps: Deps): Parsed {
  const verbs = Object.keys(entry?.verbs ?? {});
  const first = after.find((word) => !word.startsWith("-"));
  try {
    return parse(
      { path: path.join(" "), args: command.args, flags: command.flags, takesRest: command.takesRest },
      { before, after },
      { now: deps.now(), cwd: deps.cwd, homeDir: deps.surroundings.homeDir },
    );
  } catch (error) {
    const takesNoArguments = Object.keys(command.args ?? {}).length === 0;
    if (error instanceof UsageError && verbs.length > 0 && takesNoArguments && first !== undefined && first === after[0]) {
      throw unknownCommand(deps.tree, path, first);
    }
    throw error;
  }
}

/**
 * Checks the preconditions: a project folder above, or credentials. Throws an error that says what
 * the user must do.
 */
async function checkNeeds(needs: readonly Need[], context: Context): Promise<void> {
  for (const need of needs) {
    if (need === "project") await context.project();
    else {
      const settings = await context.settings();
      const { apiServer, hasCredentials } = settings;
      if (settings.profile?.missing) throw settings.profile.missing;
      if (!hasCredentials) throw await notLoggedIn(context, apiServer.value);
    }
  }
}

/**
 * The error for a user without credentials. Where a local server is expected and none runs, its
 * hint is to start one, which also logs in.
 */
async function notLoggedIn({ http }: Context, server: string | undefined): Promise<AuthError> {
  const isHere = server !== undefined && isLoopbackHost(new URL(server).hostname);
  if (isHere && (await http.ping(server).then(() => false, isUnanswered)))
    return new AuthError(`not logged in, and no server answers at ${server}`, {
      hint: "Start one on this machine with `svc server start`, which logs you in; for a server elsewhere: svc login --api-host <address>",
    });
  return new AuthError(`not logged in to ${server ?? "a server"}`, {
    hint: "Run `svc login`; for a server on this machine, `svc server start` logs you in.",
  });
}
