/**
 * The declaration of a command. Every command file exports one `defineCommand({...})` with the
 * parts in this order.
 */

import type { Context } from "../context/context.ts";
import type { View } from "../output/view.ts";
import type { Arg, Flag } from "./flag.ts";

/** Flags by their long name in camelCase (`dryRun` is `--dry-run`). */
export type FlagSpecs = Readonly<Record<string, Flag<unknown>>>;
/** Arguments by name, in order. */
export type ArgSpecs = Readonly<Record<string, Arg<unknown>>>;

/**
 * The parsed input of a command: arguments and flags by name. `rest` holds the words after `--`,
 * unparsed.
 */
export type Input<A extends ArgSpecs, F extends FlagSpecs> = {
  readonly [K in keyof A]: A[K] extends Arg<infer T> ? T : never;
} & { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never } & {
  readonly rest: readonly string[];
};

/** The parsed values of flags by name: the type of `input` for functions outside the command. */
export type InputOf<F extends FlagSpecs> = Omit<Input<Record<never, never>, F>, "rest">;

/** Preconditions checked before `run`: a project folder above, or credentials for the server. */
export type Need = "project" | "session";

/** One example in help. */
export type Example = string | { readonly run: string; readonly does: string };

/**
 * The metadata of a command or group that the tree has without loading it. In a command's file each
 * property is a literal on one line (`tree-facts.ts` reads it there).
 */
export interface TreeMetadata {
  /** Starts with a verb, at most 60 characters, no final dot. */
  readonly summary: string;
  /** Heading in the root help, for commands and groups whose path has one word. */
  readonly category?: string;
  /** Other names for the last word of its path. */
  readonly aliases?: readonly string[];
  /** Words after the path that mean the command itself: `svc resolvers list` is `svc resolvers`. */
  readonly selfVerbs?: readonly string[];
  /** Other paths that mean it, such as `token service`, in words separated by a space. */
  readonly alsoAt?: readonly string[];
  /** Whether help and completion leave it out. */
  readonly hidden?: boolean;
}

/** A command. `Data` is what `run` returns and `view` shows. */
export interface Command<A extends ArgSpecs = ArgSpecs, F extends FlagSpecs = FlagSpecs, Data = unknown> extends TreeMetadata {
  /** Paragraphs for help when the summary is not enough. */
  readonly description?: string;
  readonly examples: readonly Example[];
  readonly needs?: readonly Need[];
  readonly args?: A;
  readonly flags?: F;
  /** What words after `--` are. Absent = they are arguments like any other. */
  readonly takesRest?: string;
  /** Checks rules between flags. Throws UsageError. */
  check?(input: Input<A, F>, context: Context): void;
  /**
   * Does the work and returns data; prints nothing. An async iterable is a stream: each item is
   * shown as it comes, with --json one object per line.
   */
  run(context: Context, input: Input<A, F>): Promise<Data> | AsyncIterable<Data>;
  /**
   * Whether a stream may end behind an item because nobody reads stdout any more (`... | head -1`).
   * Default: behind any. What changes something goes on unseen to where its work is whole, or to
   * its end where its exit code is the outcome.
   */
  mayEndAfter?(item: Data): boolean;
  /** The view that shows the data. */
  readonly view: View<Data>;
  /**
   * The exit code for data that means failure (lint findings, a failing health check). Default 0.
   * An error that it throws is printed below the data.
   */
  exitCode?(data: Data): number;
}

/** A command as declared; the call only gives the types. */
export function defineCommand<const A extends ArgSpecs, const F extends FlagSpecs, Data>(
  command: Command<A, F, Data>,
): Command<A, F, Data> {
  return command;
}

/** A command in the tree, whatever the types of its input and data. */
// biome-ignore lint/suspicious/noExplicitAny: each command is called only with its own input
export type AnyCommand = Command<any, any, any>;

/**
 * The heading of commands whose path starts with the same words, when those words alone run
 * nothing.
 */
export interface Group extends TreeMetadata {
  /** Examples of its commands. */
  readonly examples: readonly Example[];
}

/** A group as declared; the call only gives the type. */
export function defineGroup(group: Group): Group {
  return group;
}

/**
 * A command or a group in the static tree: enough to print help and complete words without loading
 * the command.
 */
export interface TreeEntry extends TreeMetadata {
  /** Loads the command; absent for a group that only prints its help. */
  readonly load?: () => Promise<{ default: AnyCommand }>;
  /** Entries below it, by name. */
  readonly verbs?: Readonly<Record<string, TreeEntry>>;
  /** Examples of a group that only prints its help; a command declares its own. */
  readonly examples?: readonly Example[];
}
