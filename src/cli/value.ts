/**
 * Conversion of a flag's text to its type, with errors that name the flag, what it expects and what
 * was given.
 */

import { isAbsolute, join, resolve } from "node:path";
import { didYouMean } from "../domain/closest.ts";
import { DURATION_GRAMMAR, parseDuration } from "../domain/duration.ts";
import { escapeControls } from "../domain/name.ts";
import { parseTimestamp, TIMESTAMP_GRAMMAR } from "../domain/timestamp.ts";
import { UsageError } from "../errors/cli-error.ts";
import type { Arg, Flag } from "./flag.ts";

/** The surroundings that parsing a value depends on. */
export interface ValueContext {
  /** Epoch milliseconds, for relative times. */
  readonly now: number;
  /** Absolute directory that relative paths start from. */
  readonly dir: string;
  readonly homeDir: string;
}

const QUANTITY = /^\d+(\.\d+)?([numkMGTPE]|[KMGTPE]i|e[+-]?\d+)?$/;

/** What a flag expects, in words for messages: "a whole number". */
export function expectedText(flag: Pick<Flag<unknown>, "type" | "values" | "requireZone">): string {
  switch (flag.type) {
    case "bool":
      return "true or false";
    case "int":
      return "a whole number";
    case "float":
      return "a number";
    case "duration":
      return DURATION_GRAMMAR;
    case "timestamp":
      return flag.requireZone ? "an ISO 8601 time with a time zone such as 2024-05-01T12:00:00Z" : TIMESTAMP_GRAMMAR;
    case "enum":
      return `one of ${(flag.values ?? []).join(", ")}`;
    case "json":
      return "a JSON document";
    case "key=value":
      return "key=value";
    case "quantity":
      return "a quantity such as 500m, 1 or 100Gi";
    case "path":
      return "a path";
    default:
      return "a value";
  }
}

/** A value as shown in messages: control characters escaped, long values shortened. */
export function quoted(given: string): string {
  const safe = escapeControls(given);
  return `'${safe.length > 80 ? `${safe.slice(0, 79)}…` : safe}'`;
}

/** Parses one value of the flag named `name`. Throws UsageError. */
export function readValue(name: string, flag: Flag<unknown>, given: string, context: ValueContext): unknown {
  const value = convert(flag, given, context);
  if (value !== undefined) return value;
  const extra = flag.type === "enum" ? didYouMean(given, flag.values ?? []) : flag.type === "json" ? jsonProblem(given) : "";
  throw new UsageError(`${name} wants ${expectedText(flag)}, got ${quoted(given)}${extra && `; ${extra}`}`);
}

/** Checks an argument against its allowed words. Throws UsageError. */
export function readArgument(name: string, arg: Arg<unknown>, given: string): string {
  if (!arg.values || arg.values.includes(given)) return given;
  const close = didYouMean(given, arg.values);
  throw new UsageError(`<${name}> wants one of ${arg.values.join(", ")}, got ${quoted(given)}${close && `; ${close}`}`);
}

function convert(flag: Flag<unknown>, given: string, context: ValueContext): unknown {
  switch (flag.type) {
    case "bool":
      return /^(true|false)$/i.test(given) ? given.toLowerCase() === "true" : undefined;
    case "int": {
      const value = /^[+-]?\d+$/.test(given) ? Number(given) : Number.NaN;
      return Number.isSafeInteger(value) ? value + 0 : undefined;
    }
    case "float": {
      const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(given) ? Number(given) : Number.NaN;
      return Number.isFinite(value) ? value : undefined;
    }
    case "duration":
      return parseDuration(given);
    case "timestamp":
      return parseTimestamp(given, { now: context.now, requireZone: flag.requireZone });
    case "enum":
      return flag.values?.find((value) => value === given) ?? flag.values?.find((value) => value.toLowerCase() === given.toLowerCase());
    case "json":
      try {
        return JSON.parse(given);
      } catch {
        return undefined;
      }
    case "key=value": {
      const at = given.indexOf("=");
      return at > 0 ? ([given.slice(0, at), given.slice(at + 1)] as const) : undefined;
    }
    case "quantity":
      return QUANTITY.test(given) ? given : undefined;
    case "path":
      return given === "" ? undefined : absolutePath(given, context);
    default:
      return given;
  }
}

/**
 * A path made absolute against the context's directory; `-` (a standard stream) stays, and a
 * leading `~/` becomes the home folder.
 */
export function absolutePath(given: string, context: Pick<ValueContext, "dir" | "homeDir">): string {
  if (given === "-") return given;
  if (given === "~" || given.startsWith("~/")) return join(context.homeDir, given.slice(1));
  return isAbsolute(given) ? given : resolve(context.dir, given);
}

function jsonProblem(given: string): string {
  try {
    JSON.parse(given);
    return "";
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : "";
  }
}
