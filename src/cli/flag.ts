/**
 * Declarations of flags and arguments. A flag is a value that several commands can share, so that
 * one meaning has one name.
 */

import type { ServerNoun } from "../domain/server-noun.ts";

/** A flag's declaration; `T` is the type after parsing. */
export interface Flag<T> {
  readonly type: "bool" | "string" | "int" | "float" | "duration" | "timestamp" | "enum" | "json" | "key=value" | "quantity" | "path";
  /** The meaning: lower case, no final dot. */
  readonly meaning: string;
  /** Other forms, each with its dashes: `-y`, `--force`. */
  readonly aliases: readonly string[];
  readonly values?: readonly string[];
  readonly default?: unknown;
  /** Text of the default in help, when the value itself is not shown. */
  readonly defaultText?: string;
  readonly repeatable: boolean;
  /** Whether each value of a repeated flag is also split at commas. */
  readonly split: boolean;
  readonly required: boolean;
  /** Whether the flag may stand without a value, which is then `true`. */
  readonly optionalValue: boolean;
  /** Whether its value stands only behind `=`, so that the next word is never taken for one. */
  readonly joined?: boolean;
  /** Placeholder in help, for example `<feature=value>`. */
  readonly placeholder?: string;
  /** Whether help leaves the flag out (synonyms kept for compatibility). */
  readonly hidden: boolean;
  /**
   * Set when the value is a secret, which does not belong on a command line: the text says how else
   * to give it.
   */
  readonly secret?: string;
  /** Heading in help. */
  readonly group?: string;
  /** Whether times without a zone are refused. */
  readonly requireZone?: boolean;
  /** The kind of things that its values, or the keys of a `key=value`, name. */
  readonly names?: ServerNoun;
  /** Carries T for the type checker; never read. */
  readonly _type?: T;
}

/** An argument's declaration. */
export interface Arg<T> {
  readonly meaning: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly values?: readonly string[];
  /** The kind of things that its values name. */
  readonly names?: ServerNoun;
  readonly _type?: T;
}

/** Options of a flag's declaration. */
export interface FlagOptions<T> {
  readonly aliases?: readonly string[];
  readonly default?: T;
  readonly defaultText?: string;
  readonly required?: boolean;
  readonly placeholder?: string;
  readonly hidden?: boolean;
  readonly secret?: string;
  readonly group?: string;
  readonly names?: ServerNoun;
}

type Given<O, T> = O extends { required: true } | { default: T } ? T : T | undefined;

function make<T>(type: Flag<T>["type"], meaning: string, options: FlagOptions<unknown> & Partial<Omit<Flag<T>, "_type">> = {}): Flag<T> {
  return {
    type,
    meaning,
    repeatable: false,
    split: false,
    optionalValue: false,
    ...options,
    aliases: options.aliases ?? [],
    required: options.required ?? false,
    hidden: options.hidden ?? false,
  };
}

/** A boolean: `--x`, `--x=true`, `--x=False`. Default false. */
export const bool = (meaning: string, options: FlagOptions<boolean> = {}): Flag<boolean> =>
  make("bool", meaning, { default: false, ...options });
/** A boolean that can be left open: undefined when not given. */
export const maybe = (meaning: string, options: FlagOptions<boolean> = {}): Flag<boolean | undefined> => make("bool", meaning, options);
/** Text. */
export const text = <const O extends FlagOptions<string>>(meaning: string, options?: O): Flag<Given<O, string>> =>
  make("string", meaning, options);
/** A whole number. */
export const int = <const O extends FlagOptions<number>>(meaning: string, options?: O): Flag<Given<O, number>> =>
  make("int", meaning, options);
/** A number. */
export const float = <const O extends FlagOptions<number>>(meaning: string, options?: O): Flag<Given<O, number>> =>
  make("float", meaning, options);
/** A duration, in milliseconds. */
export const duration = <const O extends FlagOptions<number>>(meaning: string, options?: O): Flag<Given<O, number>> =>
  make("duration", meaning, options);
/** An instant, in epoch milliseconds. */
export const timestamp = <const O extends FlagOptions<number> & { requireZone?: boolean }>(
  meaning: string,
  options?: O,
): Flag<Given<O, number>> => make("timestamp", meaning, options);
/** One of several words. */
export const choice = <const V extends string, const O extends FlagOptions<V>>(
  meaning: string,
  values: readonly V[],
  options?: O,
): Flag<Given<O, V>> => make("enum", meaning, { ...options, values });
/** A JSON document, parsed. */
export const json = <const O extends FlagOptions<unknown>>(meaning: string, options?: O): Flag<unknown> => make("json", meaning, options);
/** A path, made absolute against the `--dir` directory; `-` stays. */
export const path = <const O extends FlagOptions<string>>(meaning: string, options?: O): Flag<Given<O, string>> =>
  make("path", meaning, options);
/** A quantity such as 500m, 1 or 100Gi, as text. */
export const quantity = <const O extends FlagOptions<string>>(meaning: string, options?: O): Flag<Given<O, string>> =>
  make("quantity", meaning, options);
/** A flag that may be repeated. With `split`, one value may be a comma list. */
export const list = <T>(flag: Flag<T>, options: { split?: boolean } = {}): Flag<NonNullable<T>[]> =>
  ({
    ...flag,
    repeatable: true,
    split: options.split ?? false,
    default: [],
  }) as unknown as Flag<NonNullable<T>[]>;
/** `key=value`, split at the first `=`. */
export const keyValue = (meaning: string, options?: FlagOptions<never>): Flag<readonly [string, string]> =>
  make("key=value", meaning, options);
/** A flag whose value may be missing: undefined when not given, true when given without a value. */
export const optionalValue = <T>(flag: Flag<T>): Flag<T | true | undefined> =>
  ({ ...flag, optionalValue: true }) as Flag<T | true | undefined>;
/** A flag whose value may be missing, and stands only behind `=`: `--json`, `--json=id,name`. */
export const joinedValue = <T>(flag: Flag<T>): Flag<T | true | undefined> => ({ ...optionalValue(flag), joined: true });

/** A required argument. */
export const arg = (meaning: string, options: { values?: readonly string[]; names?: ServerNoun } = {}): Arg<string> => ({
  meaning,
  required: true,
  variadic: false,
  ...options,
});
/** An argument that may be missing. */
export const optionalArg = (
  meaning: string,
  options: { values?: readonly string[]; names?: ServerNoun } = {},
): Arg<string | undefined> => ({
  meaning,
  required: false,
  variadic: false,
  ...options,
});
/** Any number of arguments. */
export const args = (meaning: string, options: { required?: boolean } = {}): Arg<readonly string[]> => ({
  meaning,
  required: options.required ?? false,
  variadic: true,
});
