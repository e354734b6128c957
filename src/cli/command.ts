/** What a command is. Every command file exports one `defineCommand({...})` with the parts in this order. */

import type { Context } from "../context/context.ts";
import type { View } from "../output/view.ts";
import type { Arg, Flag } from "./flag.ts";

/** Flags by their long name in camelCase (`dryRun` is `--dry-run`). */
export type FlagSpecs = Readonly<Record<string, Flag<unknown>>>;
/** Arguments by name, in order. */
export type ArgSpecs = Readonly<Record<string, Arg<unknown>>>;

/** The parsed input of a command: arguments and flags by name. `rest` holds the words after `--`, unparsed. */
export type Input<A extends ArgSpecs, F extends FlagSpecs> = {
  readonly [K in keyof A]: A[K] extends Arg<infer T> ? T : never;
} & { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never } & {
  readonly rest: readonly string[];
};

/** Preconditions checked before `run`: a project folder above, or credentials for the server. */
export type Need = "project" | "session";

/** One example in help. */
export type Example = string | { readonly run: string; readonly does: string };

/** A command. `Data` is what `run` returns and `view` shows. */
export interface Command<A extends ArgSpecs = ArgSpecs, F extends FlagSpecs = FlagSpecs, Data = unknown> {
  /** Starts with a verb, at most 60 characters, no final dot. */
  readonly summary: string;
  /** Paragraphs for help, when the summary is not enough. */
  readonly description?: string;
  readonly examples: readonly Example[];
  readonly needs?: readonly Need[];
  readonly args?: A;
  readonly flags?: F;
  /** Words after `--` are taken (container run, sandbox exec). Default: they are an error. */
  readonly takesRest?: boolean;
  /** Rules that cross flags: throw UsageError. */
  check?(input: Input<A, F>, context: Context): void;
  /** Does the work and returns data; prints nothing. An async iterable streams: each item is shown as it comes, one JSON object a line. */
  run(context: Context, input: Input<A, F>): Promise<Data> | AsyncIterable<Data>;
  /** How the data is shown. */
  readonly view: View<Data>;
  /** Exit code for data that says "failed" (lint findings, a failing health check). Default 0. Throws what is to be told below the data. */
  exitCode?(data: Data): number;
}

/** Declares a command; it only helps the types along. */
export function defineCommand<const A extends ArgSpecs, const F extends FlagSpecs, Data>(
  command: Command<A, F, Data>,
): Command<A, F, Data> {
  return command;
}

/** A command as the tree holds it, whatever its types. */
// biome-ignore lint/suspicious/noExplicitAny: the tree holds commands of every type; each is called only with what its own flags parsed to
export type AnyCommand = Command<any, any, any>;

/** A verb or a group in the static tree: enough to print help and complete words without loading the command. */
export interface TreeEntry {
  readonly summary: string;
  readonly aliases?: readonly string[];
  readonly hidden?: boolean;
  /** Loads the command; absent for a group that only prints its help. */
  readonly load?: () => Promise<{ default: AnyCommand }>;
  /** Words after it that mean the command itself: `svc resolvers list` is `svc resolvers`. */
  readonly selfVerbs?: readonly string[];
  /** Verbs below it. */
  readonly verbs?: Readonly<Record<string, TreeEntry>>;
  /** Examples of a group that only prints its help; a command has its own. */
  readonly examples?: readonly Example[];
  /** Heading in the root help, for top-level entries. */
  readonly category?: string;
}
