/**
 * Strict parsing of a command's words against its declarations. Two steps: `scan` finds which word
 * belongs to which flag, `parse` gives the values their types. Nothing is guessed: an unknown flag,
 * a missing or surplus argument, or a bad value is a UsageError.
 */

import { didYouMean } from "../domain/closest.ts";
import { UsageError } from "../errors/cli-error.ts";
import type { ArgSpecs, FlagSpecs } from "./command.ts";
import type { Flag } from "./flag.ts";
import { globalFlags } from "./globals.ts";
import { flagName, isFlagWord, normalizeFlag } from "./name.ts";
import { absolutePath, expectedText, quoted, readArgument, readValue, type ValueContext } from "./value.ts";

/** A flag in a table of flags. `global` names the global flag that the same value also sets. */
interface Entry {
  readonly key: string;
  readonly flag: Flag<unknown>;
  /** Whether it belongs to the command. */
  readonly local: boolean;
  readonly global?: string;
}

/** Flags by each of their forms, with dashes: `--dry-run`, `-n`. */
export type FlagTable = ReadonlyMap<string, Entry>;

/** A flag among the words with the text of its value; `true` when it had no value. */
interface Given {
  readonly entry: Entry;
  /** The flag as typed, without its value. */
  readonly typed: string;
  readonly text: string | true;
}

/** The words of a command, classified. */
interface Scanned {
  readonly flags: readonly Given[];
  readonly positionals: readonly string[];
  /** Words after `--`; undefined when there was none. */
  readonly rest: readonly string[] | undefined;
}

/** The declarations that a command line is parsed against. */
export interface ParseSpec {
  /** For messages: `features list`. */
  readonly path: string;
  readonly args?: ArgSpecs;
  readonly flags?: FlagSpecs;
  readonly takesRest?: string;
}

/** A parsed command line. */
export interface Parsed {
  /** Arguments and flags by name, and `rest`. */
  readonly input: Readonly<Record<string, unknown>> & { readonly rest: readonly string[] };
  /** Global flags that were given, by key. */
  readonly globals: Readonly<Record<string, unknown>>;
  /** The command line in normal form: `--k=v` flags, then `--`, then arguments. */
  readonly canonical: readonly string[];
  /** Absolute directory to start from (`--dir`). */
  readonly dir: string;
  /** A warning for each flag that was given a secret. */
  readonly warnings: readonly string[];
}

function sameKind(a: Flag<unknown>, b: Flag<unknown>): boolean {
  return a.type === b.type && a.repeatable === b.repeatable && a.joined === b.joined;
}

/**
 * The table of a command's flags and the global ones. A local flag wins over a global one; with the
 * same name and type, it sets both.
 */
export function flagTable(local: FlagSpecs = {}): FlagTable {
  const table = new Map<string, Entry>();
  const globals: FlagSpecs = globalFlags;
  for (const [key, flag] of Object.entries(local)) {
    const twin = globals[key];
    const entry: Entry = { key, flag, local: true, global: twin && sameKind(twin, flag) ? key : undefined };
    for (const form of [flagName(key), ...flag.aliases]) table.set(normalizeFlag(form), entry);
  }
  for (const [key, flag] of Object.entries(globals)) {
    const twin = local[key];
    const entry: Entry = twin && sameKind(twin, flag) ? (table.get(flagName(key)) as Entry) : { key, flag, local: false, global: key };
    for (const form of [flagName(key), ...flag.aliases]) {
      const name = normalizeFlag(form);
      if (!table.has(name)) table.set(name, entry);
    }
  }
  return table;
}

/**
 * A flag word split into the flags that it names, the last one with its value if the word contains
 * one. Undefined when a name is unknown.
 */
function splitWord(word: string, table: FlagTable): { entry: Entry; typed: string; text?: string }[] | undefined {
  const at = word.indexOf("=");
  const typed = at < 0 ? word : word.slice(0, at);
  const text = at < 0 ? undefined : word.slice(at + 1);
  const whole = table.get(normalizeFlag(typed));
  if (whole) return [{ entry: whole, typed, text }];
  if (word.startsWith("--")) return undefined;
  const found: { entry: Entry; typed: string; text?: string }[] = [];
  let i = 1;
  while (i < word.length) {
    const length = table.has(`-${word.slice(i, i + 2)}`) ? 2 : 1;
    const name = `-${word.slice(i, i + length)}`;
    const entry = table.get(name);
    if (!entry) return undefined;
    i += length;
    const tail = word.slice(i);
    if (entry.flag.type !== "bool" && tail !== "") {
      found.push({ entry, typed: name, text: tail.replace(/^=/, "") });
      return found;
    }
    if (tail.startsWith("=")) {
      found.push({ entry, typed: name, text: tail.slice(1) });
      return found;
    }
    found.push({ entry, typed: name });
  }
  return found;
}

/**
 * The number of words, from `at`, that a flag and its value take; 0 when the word at `at` names no
 * flag of the table. Used to find the command's path.
 */
export function flagSpan(words: readonly string[], at: number, table: FlagTable): number {
  const parts = splitWord(words[at] as string, table);
  const last = parts?.at(-1);
  if (!last) return 0;
  return last.text === undefined && takesNext(last.entry.flag, words[at + 1]) ? 2 : 1;
}

function takesNext(flag: Flag<unknown>, next: string | undefined): boolean {
  if (next === undefined || flag.joined || isFlagWord(next)) return false;
  if (flag.type === "bool") return flag.optionalValue && /^(true|false)$/i.test(next);
  return true;
}

/** Separates flags, their values, arguments and the words after `--`. */
function scan(words: readonly string[], table: FlagTable, { path, args }: Pick<ParseSpec, "path" | "args">): Scanned {
  const flags: Given[] = [];
  const positionals: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    if (word === "--") return { flags, positionals, rest: words.slice(i + 1) };
    if (!isFlagWord(word)) {
      positionals.push(word);
      continue;
    }
    const parts = splitWord(word, table);
    if (!parts) throw unknownFlag(word, table, path, args);
    for (const { entry, typed, text } of parts) {
      if (text !== undefined) flags.push({ entry, typed, text });
      else if (takesNext(entry.flag, words[i + 1]) && entry === parts.at(-1)?.entry)
        flags.push({ entry, typed, text: words[++i] as string });
      else if (entry.flag.type === "bool" || entry.flag.optionalValue) flags.push({ entry, typed, text: true });
      else throw missingValue(typed, entry.flag, words[i + 1]);
    }
  }
  return { flags, positionals, rest: undefined };
}

function missingValue(typed: string, flag: Flag<unknown>, next: string | undefined): UsageError {
  const hint = next?.startsWith("-") && next !== "--" ? `To give a value that starts with a dash, write ${typed}=${next}.` : undefined;
  return new UsageError(`${typed} needs a value: ${expectedText(flag)}`, { hint });
}

/** The error for a flag that a command does not have. */
function unknownFlag(word: string, table: FlagTable, path: string, args: ArgSpecs = {}): UsageError {
  const typed = normalizeFlag(word.split("=")[0] as string);
  const forms = [...table].filter(([, entry]) => !entry.flag.hidden).map(([name]) => name);
  const where = path === "" ? "" : ` for 'svc ${path}'`;
  const hint = `Run \`svc ${path === "" ? "" : `${path} `}--help\` to see the flags.`;
  const positive = `--${typed.slice(5)}`;
  if (typed.startsWith("--no-") && table.get(positive)?.flag.type === "bool") {
    return new UsageError(`unknown flag ${quoted(typed)}${where}; to turn it off write ${positive}=false`, { hint });
  }
  const longOne = typed.startsWith("--") ? [] : forms.filter((name) => name === `-${typed}`);
  const [argument] = Object.entries(args).filter(([name]) => flagName(name) === typed);
  const close = longOne[0]
    ? `did you mean '${longOne[0]}'?`
    : argument
      ? `it is an argument, which stands without a flag: ${argument[1].meaning}`
      : didYouMean(typed, forms) || meantBy(typed, table);
  return new UsageError(`unknown flag ${quoted(typed)}${where}${close && `; ${close}`}`, { hint });
}

/** Most flags that a name may mean. */
const MOST_MEANT = 3;

/**
 * The flags of a command whose meaning has all words of an unknown flag, with what they take. Empty
 * when there are none, or too many to mean one.
 */
function meantBy(typed: string, table: FlagTable): string {
  const wanted = wordsOf(typed);
  const flags = [...new Set(table.values())].filter(({ flag, key, local }) => {
    const known = wordsOf(`${flagName(key)} ${flag.meaning}`);
    return local && !flag.hidden && wanted.length > 0 && wanted.every((word) => known.includes(word));
  });
  if (flags.length > MOST_MEANT) return "";
  return flags.map(({ flag, key }) => `${flagName(key)} takes the ${flag.meaning}`).join("; ");
}

/** The words of a text or of a flag, in lower case; plural and singular are one. */
function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((word) => word.replace(/s$/, ""));
}

/**
 * Parses the words after a command's path, and the global flags that stood before it. Throws
 * UsageError.
 */
export function parse(
  spec: ParseSpec,
  words: { readonly before: readonly string[]; readonly after: readonly string[] },
  base: { readonly now: number; readonly cwd: string; readonly homeDir: string },
): Parsed {
  const early = scan(words.before, flagTable(), { path: "" });
  const table = flagTable(spec.flags);
  const scanned = scan(words.after, table, spec);
  const flags = [...early.flags.map((given) => relocate(given, table)), ...scanned.flags];

  const dirText = flags.filter(({ entry }) => entry.global === "dir").at(-1)?.text;
  const dir = typeof dirText === "string" && dirText !== "" ? absolutePath(dirText, { dir: base.cwd, homeDir: base.homeDir }) : base.cwd;
  const context: ValueContext = { now: base.now, dir, homeDir: base.homeDir };

  const input: Record<string, unknown> = {};
  const globals: Record<string, unknown> = {};
  const canonical: string[] = [];
  const first = new Map<Entry, Given>();
  for (const given of flags) {
    const { entry, typed, text } = given;
    const name = flagName(entry.key);
    const read = entry.global === "dir" ? { ...context, dir: base.cwd } : context;
    const values = text === true ? [true] : pieces(typed, entry.flag, text).map((piece) => readValue(typed, entry.flag, piece, read));
    canonical.push(text === true ? name : `${name}=${text}`);
    const before = first.get(entry);
    if (before && !entry.flag.repeatable && before.text !== text) throw givenTwice(before, given);
    first.set(entry, given);
    if (entry.local) input[entry.key] = entry.flag.repeatable ? [...((input[entry.key] as unknown[]) ?? []), ...values] : values[0];
    if (entry.global) globals[entry.global] = values[0];
  }

  for (const [key, flag] of Object.entries(spec.flags ?? {})) {
    if (input[key] !== undefined) continue;
    if (flag.required) throw new UsageError(`${flagName(key)} is required: ${flag.meaning}`);
    input[key] = flag.repeatable ? [...((flag.default as unknown[] | undefined) ?? [])] : flag.default;
  }

  const rest = scanned.rest ?? [];
  const positionals = spec.takesRest !== undefined ? scanned.positionals : [...scanned.positionals, ...rest];
  assignArguments(spec, positionals, input);
  if (scanned.positionals.length > 0 || scanned.rest) canonical.push("--", ...scanned.positionals, ...rest);
  const warnings = [...first.values()].flatMap(({ entry, typed, text }) => {
    const { secret } = entry.flag;
    return secret === undefined || text === "-"
      ? []
      : `a secret on the command line (${typed}) can be seen by other programs and stays in the shell's history; ${secret} avoids that`;
  });
  return { input: { ...input, rest: spec.takesRest !== undefined ? rest : [] }, globals, canonical, dir, warnings };
}

/**
 * A global flag given before the path, assigned also to the command's own flag of the same name and
 * type.
 */
function relocate(given: Given, table: FlagTable): Given {
  const own = table.get(flagName(given.entry.key));
  return own?.global === given.entry.key ? { ...given, entry: own } : given;
}

function pieces(typed: string, flag: Flag<unknown>, text: string): string[] {
  if (!flag.split) return [text];
  const found = text
    .split(",")
    .map((piece) => piece.trim())
    .filter((piece) => piece !== "");
  if (found.length === 0) throw new UsageError(`${typed} needs at least one value, got ${quoted(text)}`);
  return found;
}

function givenTwice(before: Given, now: Given): UsageError {
  const name = flagName(now.entry.key);
  const shown = ({ typed, text }: Given) => quoted(text === true ? typed : `${typed}=${text}`);
  const values = now.entry.flag.secret !== undefined ? "" : `: ${shown(before)} and ${shown(now)}`;
  return new UsageError(`${name} was given twice with different values${values}`);
}

function assignArguments(spec: ParseSpec, positionals: readonly string[], input: Record<string, unknown>): void {
  const left = [...positionals];
  const usage = `Run \`svc ${spec.path} --help\` to see the arguments.`;
  for (const [name, arg] of Object.entries(spec.args ?? {})) {
    if (arg.variadic) {
      if (arg.required && left.length === 0) throw new UsageError(`missing argument <${name}>: ${arg.meaning}`, { hint: usage });
      input[name] = left.splice(0).map((word) => readArgument(name, arg, word));
      continue;
    }
    const word = left.shift();
    if (word === undefined && arg.required) throw new UsageError(`missing argument <${name}>: ${arg.meaning}`, { hint: usage });
    input[name] = word === undefined ? undefined : readArgument(name, arg, word);
  }
  const surplus = left[0];
  if (surplus === undefined) return;
  const takes = Object.keys(spec.args ?? {}).length === 0 ? "it takes none" : `it takes ${argumentUsage(spec.args ?? {})}`;
  throw new UsageError(`unexpected argument ${quoted(surplus)} for 'svc ${spec.path}'; ${takes}`, { hint: usage });
}

/** Arguments in usage notation: `<name> [<other>] [<more>...]`. */
export function argumentUsage(args: ArgSpecs): string {
  return Object.entries(args)
    .map(([name, arg]) => {
      const shown = `<${name}>${arg.variadic ? "..." : ""}`;
      return arg.required ? shown : `[${shown}]`;
    })
    .join(" ");
}
