/** Documents that commands are given: a YAML file, which JSON is too, or stdin. */

import { path } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { plainValue, readYaml } from "../domain/yaml-tree.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";

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
): Promise<{ readonly place: string; readonly value: unknown }> {
  const place = file === "-" ? "stdin" : file;
  const bytes = file === "-" ? await io.readAll() : await machine.readBytes(file);
  if (bytes === undefined) throw new UsageError(`there is no file ${file}`);
  if (bytes.length > MAX_BYTES) throw new UsageError(`${place} is longer than ${MAX_BYTES / 1024} KiB`);
  const text = new TextDecoder().decode(bytes);
  const { root, problems } = readYaml(text);
  const [problem] = problems;
  if (problem) {
    const { LineMap } = await import("../domain/line-map.ts");
    const { line, column } = new LineMap(place, text).position(problem.start);
    throw new CliError(`${place}:${line}:${column} is no YAML: ${problem.message}`, { code: "bad_document" });
  }
  return { place, value: root && plainValue(root) };
}
