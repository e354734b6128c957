/** Documents that commands are given: a YAML file, which JSON is too, or stdin. */

import { path } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { didYouMean } from "../domain/closest.ts";
import { plainValue, readYaml } from "../domain/yaml-tree.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { caretText } from "../output/caret.ts";

/** Longest document, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** `--file`, `-f`: required. `content` says what is in it, for help. */
export const documentFlags = (content: string) => ({
  file: path(`${content}, as YAML or JSON; - reads stdin`, { aliases: ["-f"], required: true }),
});

/** `--file`, `-f`, where other flags can take its place. */
export const optionalDocumentFlags = (content: string) => ({
  file: path(`${content}, as YAML or JSON; - reads stdin`, { aliases: ["-f"] }),
});

/** A document that was read: an object, with the place that messages name. */
export interface GivenDocument {
  /** The file's path, or `stdin`. */
  readonly place: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/**
 * Reads a document, which is an object with keys. Throws a CliError that names the place, with line
 * and column where the text is no YAML.
 */
export async function readDocument(context: Pick<Context, "io" | "machine">, file: string): Promise<GivenDocument> {
  const { place, value } = await readValue(context, file);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new CliError(`${place} holds no keys and values`, { code: "bad_document", hint: "Expected a YAML mapping, such as `name: x`." });
  return { place, value: value as Record<string, unknown> };
}

/** Reads a value of any kind. Throws like `readDocument`. */
export async function readValue(
  { io, machine }: Pick<Context, "io" | "machine">,
  file: string,
  language: "YAML" | "JSON" = "YAML",
): Promise<{ readonly place: string; readonly value: unknown }> {
  const place = file === "-" ? "stdin" : file;
  const bytes = file === "-" ? await io.readAll() : await machine.readBytes(file);
  if (bytes === undefined) throw new UsageError(`there is no file ${file}`);
  if (bytes.length > MAX_BYTES) throw new UsageError(`${place} is longer than ${MAX_BYTES / 1024} KiB`);
  return { place, value: await readText(place, new TextDecoder().decode(bytes), language) };
}

/**
 * The value of an argument that is a text of JSON, `@` and a file of it, or `-` for stdin. Throws a
 * UsageError that points at what is no JSON.
 */
export async function readArgumentValue(context: Pick<Context, "io" | "machine">, given: string): Promise<unknown> {
  if (given === "-" || given.startsWith("@")) return (await readValue(context, given.replace(/^@/, ""), "JSON")).value;
  return readText("the argument", given, "JSON");
}

/** The value of a text. Throws with line and column: JSON is an argument, and YAML a document. */
async function readText(place: string, text: string, language: "YAML" | "JSON"): Promise<unknown> {
  const { root, problems } = readYaml(text);
  const [problem] = problems;
  if (problem) {
    const { LineMap } = await import("../domain/line-map.ts");
    const { line, column } = new LineMap(place, text).position(problem.start);
    const begin = text.lastIndexOf("\n", problem.start - 1) + 1;
    const given = text.slice(begin).split("\n", 1)[0] ?? "";
    const at = `${place}:${line}:${column} is no ${language}:`;
    if (language === "YAML") throw new CliError(`${at} ${problem.message}`, { code: "bad_document" });
    throw new UsageError(`${at}\n${caretText(given, problem.start - begin, problem.start - begin)}`);
  }
  return root && plainValue(root);
}

/** An error that says what is wrong with a document, with the place of it. */
export function documentError({ place }: GivenDocument, problem: string, hint?: string): CliError {
  return new CliError(`${place} ${problem}`, { code: "bad_document", ...(hint !== undefined && { hint }) });
}

/** Throws a CliError for a key that is none of `keys`. */
export function checkKeys(document: GivenDocument, keys: readonly string[]): void {
  const unknown = Object.keys(document.value).find((key) => !keys.includes(key));
  if (unknown === undefined) return;
  throw documentError(document, `has the key '${unknown}'`, didYouMean(unknown, keys) || `The keys are ${keys.join(", ")}.`);
}

/** The text of a key, empty when it is not there. Throws a CliError for any other value. */
export function textAt(document: GivenDocument, key: string): string {
  const value = document.value[key] ?? "";
  if (typeof value !== "string") throw documentError(document, `has a ${key} that is no text`);
  return value;
}
