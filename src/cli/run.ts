/**
 * From argv to an exit code: find the command, parse, check, run, render. All errors become
 * messages and codes here.
 */

import { buildInfo } from "../build-info.ts";
import type { Context } from "../context/context.ts";
import type { GlobalFlags } from "../context/flags.ts";
import type { Io } from "../context/io.ts";
import type { Machine, Surroundings } from "../context/machine.ts";
import { exitCodes } from "../errors/exit-codes.ts";
import type { NamesOf } from "./complete.ts";
import { mayNameExtension, resolve, type Tree } from "./resolve.ts";

/** The dependencies of the program; `systemDeps` makes the real ones, tests make their own. */
export interface Deps {
  readonly tree: Tree;
  /** Headings of the root help, in order. */
  readonly categories: readonly string[];
  readonly io: Io;
  readonly surroundings: Pick<Surroundings, "env" | "homeDir">;
  /** Absolute working directory. */
  readonly cwd: string;
  /** Epoch milliseconds. */
  now(): number;
  /** Aborted with an InterruptedError by Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /**
   * Runs work during which those signals end the process, because no other code can run beside it.
   * Absent where nothing listens for them.
   */
  readonly interruptible?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Makes the context of the one command that runs. */
  createContext(flags: GlobalFlags): Promise<Context>;
  /**
   * Commands for programs rather than people, by name, in no help. They get the words after the
   * name unparsed and resolve with an exit code.
   */
  readonly internalCommands?: Readonly<Record<string, (words: readonly string[]) => Promise<number>>>;
  /** Names that the server knows, for completion; absent means none. */
  readonly serverNames?: NamesOf;
  /** Rejects with an error that no code handled. */
  readonly crashed?: Promise<never>;
}

/**
 * Whether any of a flag's forms is among the words before `--`. For flags that must work although
 * the words may not parse.
 */
export function hasFlag(argv: readonly string[], forms: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end < 0 ? argv : argv.slice(0, end)).some((word) => forms.includes(word.toLowerCase()));
}

/** Whether the words ask for JSON, although they may not parse. */
export function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end < 0 ? argv : argv.slice(0, end)).some((word) => /^--json(=|$)/i.test(word) && !/^--json=false$/i.test(word));
}

/**
 * Runs the program and resolves with its exit code. Prints every error; never rejects, never exits.
 */
export async function main(argv: readonly string[], deps: Deps): Promise<number> {
  try {
    const work = dispatch(argv, deps);
    return await (deps.crashed ? Promise.race([work, deps.crashed]) : work);
  } catch (error) {
    const { report } = await import("../errors/report.ts");
    const json = asksForJson(argv);
    const debug = hasFlag(argv, ["-vv", "--debug", "--debug=true", "--extra-verbose"]);
    return report(deps.signal.aborted ? deps.signal.reason : error, deps.io, { json, debug, mark: await errorMark(deps, argv) });
  }
}

async function printVersion({ io }: Deps, json: boolean): Promise<number> {
  const { version } = buildInfo;
  await io.writeOut(json ? `{"version": ${JSON.stringify(version)}}\n` : `svc ${version}\n`);
  return exitCodes.ok;
}

async function errorMark(deps: Deps, argv: readonly string[]): Promise<(text: string) => string> {
  const { colorChoice, createStyle } = await import("../output/style.ts");
  const color = colorChoice(deps.surroundings.env, hasFlag(argv, ["--no-color", "--no_color"]) || undefined);
  const style = await createStyle({ isTTY: deps.io.stderrIsTTY, color, width: Number.POSITIVE_INFINITY });
  return (text) => style.red(style.bold(text));
}

/** The machine, for runs that are not a command of svc. */
export async function machineOf({ createContext, cwd, surroundings }: Deps): Promise<Machine> {
  const { toGlobalFlags } = await import("./globals.ts");
  return (await createContext(toGlobalFlags({ noUpdateCheck: true }, { env: surroundings.env, dir: cwd }))).machine;
}

async function dispatch(argv: readonly string[], deps: Deps): Promise<number> {
  if (argv[0] === "--version" || argv[0] === "-V") return printVersion(deps, asksForJson(argv));
  if (argv[0] === "__complete") {
    const { complete } = await import("./complete.ts");
    const extensions = async () => (await import("./extension.ts")).listExtensions(deps.tree, await machineOf(deps));
    await deps.io.writeOut(await complete(deps.tree, argv.slice(1), { serverNames: deps.serverNames, extensions }));
    return exitCodes.ok;
  }
  const internal = argv[0]?.startsWith("__") ? deps.internalCommands?.[argv[0]] : undefined;
  if (internal) return internal(argv.slice(1));
  const [word, ...words] = argv;
  if (mayNameExtension(deps.tree, word)) {
    const { runExtension } = await import("./extension.ts");
    const exitCode = await runExtension(word, words, await machineOf(deps));
    if (exitCode !== undefined) return exitCode;
  }
  const resolved = resolve(deps.tree, argv);
  if (resolved.entry?.load) {
    const { execute } = await import("./execute.ts");
    return execute(resolved, resolved.entry.load, deps);
  }
  if (resolved.path.length === 0 && hasFlag(argv, ["--version"])) return printVersion(deps, asksForJson(argv));
  const { showGroup } = await import("./show-help.ts");
  return showGroup(resolved, argv, deps);
}
