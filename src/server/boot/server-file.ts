/** The server's configuration file, `server.yaml` in the data directory. */

import { readRegularFile } from "../../disk/regular-file.ts";
import { errorText } from "../../domain/error-text.ts";
import { StartError } from "../failure.ts";

/** Name of the file. */
export const SERVER_FILE = "server.yaml";

/** Its sections. */
const SECTIONS = ["stores", "usage", "login"] as const;

/** A mapping of a YAML file. */
export type Mapping = Readonly<Record<string, unknown>>;

const MAX_BYTES = 1024 * 1024;
const CORRECT = "Correct the file and start again.";

/** The file as it was read: its absolute path and its sections. */
export interface ServerFile extends Readonly<Record<(typeof SECTIONS)[number], Mapping>> {
  readonly path: string;
}

/**
 * Reads the file's sections; those that it lacks, and a file that does not exist, are empty.
 * @param path absolute
 * @throws StartError "setting_invalid" for anything that is not understood: nothing is ignored
 */
export function readServerFile(path: string): ServerFile {
  const text = read(path);
  const content = text === undefined ? {} : mappingOf(parse(text, path), path, "It");
  for (const key of Object.keys(content))
    if (!SECTIONS.some((name) => name === key))
      throw invalidSetting(`${path} has the setting '${key}', which there is not.`, `There is: ${SECTIONS.join(", ")}.`);
  const section = (name: (typeof SECTIONS)[number]): Mapping => mappingOf(content[name], path, `'${name}'`);
  return { path, stores: section("stores"), usage: section("usage"), login: section("login") };
}

/** A value of the file as a mapping; empty when it is missing. Throws StartError. */
export function mappingOf(value: unknown, path: string, what: string): Mapping {
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw invalidSetting(`${path} cannot be used: ${what} is not a mapping.`);
  return value as Mapping;
}

/** Refuses a mapping that has other keys than the known ones. Throws StartError. */
export function refuseOthers(entry: Mapping, known: readonly string[], file: string, what: string): void {
  const other = Object.keys(entry).find((key) => !known.includes(key));
  if (other !== undefined) throw invalidSetting(`${file}: ${what} has the key '${other}'.`, `There is: ${known.join(", ")}.`);
}

/** A value of the file as text. Throws StartError. */
export function textOf(value: unknown, file: string, what: string): string {
  if ((typeof value === "string" && value !== "") || typeof value === "number") return String(value);
  throw invalidSetting(`${file}: ${what} is not text.`);
}

/** The error for a setting that is not understood. */
export function invalidSetting(message: string, hint = CORRECT): StartError {
  return new StartError("setting_invalid", message, hint);
}

function read(path: string): string | undefined {
  try {
    return readRegularFile(path, { maxBytes: MAX_BYTES })?.toString("utf8");
  } catch (error) {
    throw invalidSetting(errorText(error));
  }
}

function parse(text: string, path: string): unknown {
  try {
    return Bun.YAML.parse(text);
  } catch (error) {
    throw invalidSetting(`${path} is not YAML: ${errorText(error)}.`);
  }
}
