/**
 * Parameters of tools: each is said to callers as a JSON schema, and read by the same declaration.
 */

import { didYouMean } from "../closest.ts";
import { escapeControls } from "../name.ts";
import type { Fields } from "./json-rpc.ts";
import { isFields } from "./json-rpc.ts";

/** A parameter's declaration; `T` is the type after reading. */
export interface Parameter<T> {
  /** Its JSON schema, with what it means. */
  readonly schema: Fields;
  readonly isRequired: boolean;
  /** The value that was given. Throws ArgumentRefused. */
  readonly read: (given: unknown, name: string) => NonNullable<T>;
  /** Carries T for the type checker; never read. */
  readonly _type?: T;
}

/** Parameters by name. */
export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

/** The arguments of a call, read. */
export type Arguments<P extends Parameters> = { readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T : never };

/** An argument that cannot be read. Its message says which, what it wants, and what was given. */
export class ArgumentRefused extends Error {
  override readonly name = "ArgumentRefused";
}

/** Most characters of a text, unless a parameter says otherwise. */
const MAX_TEXT = 1_000;
/** Most items of a list, and members of an object. */
const MAX_ITEMS = 500;

type Given<O, T> = O extends { readonly required: true } ? T : T | undefined;
interface Options {
  readonly required?: boolean;
}

function make<T, O extends Options>(schema: Fields, options: O | undefined, read: Parameter<T>["read"]): Parameter<Given<O, T>> {
  return { schema, isRequired: options?.required ?? false, read } as Parameter<Given<O, T>>;
}

/** A text. */
export function text<const O extends Options & { readonly most?: number }>(meaning: string, options?: O): Parameter<Given<O, string>> {
  const { most = MAX_TEXT } = options ?? {};
  return make({ type: "string", description: meaning, maxLength: most }, options, (given, name) => {
    if (typeof given !== "string" || given.length > most || !given.isWellFormed())
      throw refused(name, `a text of at most ${most} characters`, given);
    return given;
  });
}

/** A whole number between two bounds. */
export function int<const O extends Options>(meaning: string, least: number, most: number, options?: O): Parameter<Given<O, number>> {
  return make({ type: "integer", description: meaning, minimum: least, maximum: most }, options, (given, name) => {
    if (typeof given !== "number" || !Number.isSafeInteger(given) || given < least || given > most)
      throw refused(name, `a whole number from ${least} to ${most}`, given);
    return given;
  });
}

/** True or false. */
export function bool<const O extends Options>(meaning: string, options?: O): Parameter<Given<O, boolean>> {
  return make({ type: "boolean", description: meaning }, options, (given, name) => {
    if (typeof given !== "boolean") throw refused(name, "true or false", given);
    return given;
  });
}

/** One of several words. */
export function choice<const V extends string, const O extends Options>(
  meaning: string,
  values: readonly V[],
  options?: O,
): Parameter<Given<O, V>> {
  return make<V, O>({ type: "string", description: meaning, enum: values }, options, (given, name) => {
    const value = values.find((one) => one === given);
    if (value === undefined) throw refused(name, `one of ${values.join(", ")}`, given);
    return value as NonNullable<V>;
  });
}

/** A list of texts. */
export function texts<const O extends Options>(meaning: string, options?: O): Parameter<Given<O, readonly string[]>> {
  const schema = { type: "array", description: meaning, items: { type: "string", maxLength: MAX_TEXT }, maxItems: MAX_ITEMS };
  return make(schema, options, (given, name) => {
    if (!Array.isArray(given) || given.length > MAX_ITEMS || !given.every((one) => typeof one === "string" && one.length <= MAX_TEXT))
      throw refused(name, `a list of at most ${MAX_ITEMS} texts`, given);
    return given as readonly string[];
  });
}

/** An object with members of any names and values. */
export function object<const O extends Options>(meaning: string, options?: O): Parameter<Given<O, Fields>> {
  const schema = { type: "object", description: meaning, additionalProperties: true, maxProperties: MAX_ITEMS };
  return make(schema, options, (given, name) => {
    if (!isFields(given) || Object.keys(given).length > MAX_ITEMS) throw refused(name, `an object of at most ${MAX_ITEMS} members`, given);
    return given;
  });
}

/** The JSON schema of all parameters of a tool. */
export function schemaOf(parameters: Parameters): Fields {
  const required = Object.keys(parameters).filter((name) => parameters[name]?.isRequired);
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(parameters).map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

/** The arguments of a call; null is as absent. Throws ArgumentRefused, also for an unknown one. */
export function readArguments(parameters: Parameters, given: Fields): Fields {
  const read: Record<string, unknown> = {};
  for (const name of Object.keys(given)) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (!parameter) {
      const names = Object.keys(parameters);
      const known = didYouMean(name, names) || (names.length > 0 ? `there are ${names.join(", ")}` : "it takes none");
      throw new ArgumentRefused(`there is no argument '${shown(name)}': ${known}`);
    }
    if (given[name] !== undefined && given[name] !== null) read[name] = parameter.read(given[name], name);
  }
  const missing = Object.keys(parameters).filter((name) => parameters[name]?.isRequired && read[name] === undefined);
  if (missing.length > 0) throw new ArgumentRefused(`the argument '${missing[0]}' is missing`);
  return read;
}

function refused(name: string, wanted: string, given: unknown): ArgumentRefused {
  const what = Array.isArray(given) ? "a list" : given !== null && typeof given === "object" ? "an object" : shown(String(given));
  return new ArgumentRefused(`'${name}' wants ${wanted}, got ${what}`);
}

function shown(given: string): string {
  return escapeControls((given.length > 60 ? `${given.slice(0, 59)}…` : given).toWellFormed());
}
