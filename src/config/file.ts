/**
 * The config file: `tokens` maps a project root, or `default`, to credentials and choices. It is
 * YAML that people edit, so comments and the order of keys survive a write.
 */

import { dirname, join } from "node:path";
import type { GlobalFlags } from "../context/flags.ts";
import type { Surroundings } from "../context/machine.ts";
import { isOpenToOthers, readPrivateFile, refuseLink, writePrivateFile } from "../disk/private-file.ts";
import { errorText } from "../domain/error-text.ts";
import { yamlMessage } from "../domain/yaml-tree.ts";
import { CliError } from "../errors/cli-error.ts";
import { locateConfig } from "./location.ts";

/** The key of the entry used outside projects, and for projects without an entry of their own. */
export const DEFAULT_KEY = "default";

/** One entry of `tokens`. All values are text; a missing one is undefined. */
export interface ConfigEntry {
  /** The owner of the credentials, for people. */
  readonly name?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** Where the secret is instead: `keychain`. */
  readonly clientSecretIn?: string;
  readonly apiServer?: string;
  readonly grpcServer?: string;
  readonly queryServer?: string;
  readonly activeEnvironment?: string;
}

const FIELDS = [
  "name",
  "clientId",
  "clientSecret",
  "clientSecretIn",
  "apiServer",
  "grpcServer",
  "queryServer",
  "activeEnvironment",
] as const;

/**
 * The entries of a config file by key. Throws a CliError with file, line and column when it is not
 * YAML or has another structure.
 */
export async function readEntries(path: string): Promise<ReadonlyMap<string, ConfigEntry>> {
  const text = readPrivateFile(path);
  if (text === undefined) return new Map();
  return entriesOf(quickParse(text) ?? valuesOf(await parseDocumentOf(path, text), path), path);
}

/** Whether a config file contains a secret that other users of this machine may read or replace. */
export function isExposed(path: string, entries: ReadonlyMap<string, ConfigEntry>): boolean {
  return [...entries.values()].some(({ clientSecret }) => clientSecret !== undefined) && isOpenToOthers(path);
}

/**
 * Whether the config file allows the daily check for a newer version: `updateCheck: false` at its
 * top level forbids it, and so does a broken file.
 */
export async function allowsUpdateCheck(
  flags: Pick<GlobalFlags, "authConfig">,
  surroundings: Pick<Surroundings, "env" | "homeDir">,
): Promise<boolean> {
  try {
    const { read } = locateConfig(flags, surroundings);
    const text = read === undefined ? undefined : readPrivateFile(read);
    const parsed: unknown = text === undefined ? {} : Bun.YAML.parse(text);
    return !isRecord(parsed) || !/^(false|no|off)$/i.test(String(parsed.updateCheck ?? ""));
  } catch {
    return false;
  }
}

/**
 * Changes one entry of the file that the flags and the surroundings select, and returns that file's
 * path: given fields are set, undefined ones removed, all others stay. Writers wait for each other,
 * so that no change is lost. The folder is made when it is missing; the file gets mode 0600.
 */
export async function updateEntry(
  flags: Pick<GlobalFlags, "authConfig">,
  surroundings: Pick<Surroundings, "env" | "homeDir">,
  key: string,
  change: Partial<Record<(typeof FIELDS)[number], string | undefined>>,
): Promise<string> {
  return editEntries(flags, surroundings, async (document) => {
    const { isMap } = await import("yaml");
    for (const path of [[], ["tokens"], ["tokens", key]]) {
      if (!isMap(document.getIn(path, true))) document.setIn(path, document.createNode({}));
    }
    for (const [field, value] of Object.entries(change)) {
      if (value === undefined) document.deleteIn(["tokens", key, field]);
      else document.setIn(["tokens", key, field], value);
    }
    return true;
  });
}

/**
 * Removes the entries that contain a client of a server, and returns the file's path and what was
 * removed. Writes nothing when there is no such entry.
 */
export async function removeEntriesOf(
  flags: Pick<GlobalFlags, "authConfig">,
  surroundings: Pick<Surroundings, "env" | "homeDir">,
  isOfClient: (entry: ConfigEntry) => boolean,
): Promise<{ readonly path: string; readonly removed: ReadonlyMap<string, ConfigEntry> }> {
  const { read, write } = locateConfig(flags, surroundings);
  let removed: ReadonlyMap<string, ConfigEntry> = new Map();
  if (read === undefined) return { path: write, removed };
  const path = await editEntries(flags, surroundings, async (document, entries) => {
    removed = new Map([...entries].filter(([, entry]) => isOfClient(entry)));
    for (const key of removed.keys()) document.deleteIn(["tokens", key]);
    return removed.size > 0;
  });
  return { path, removed };
}

/** Edits the document under the file's lock, and writes it when `edit` reports a change. */
async function editEntries(
  flags: Pick<GlobalFlags, "authConfig">,
  surroundings: Pick<Surroundings, "env" | "homeDir">,
  edit: (document: Awaited<ReturnType<typeof parseDocumentOf>>, entries: ReadonlyMap<string, ConfigEntry>) => Promise<boolean>,
): Promise<string> {
  const location = locateConfig(flags, surroundings);
  const path = location.write;
  refuseLink(path);
  const { withFileLock } = await import("../disk/lock.ts");
  await withFileLock(lockPath(path), { what: path }, async () => {
    const text = readPrivateFile(path) ?? (location.read === undefined ? undefined : readPrivateFile(location.read)) ?? "";
    const document = await parseDocumentOf(path, text);
    if (await edit(document, entriesOf(valuesOf(document, path), path)))
      writePrivateFile(path, document.toString({ lineWidth: 0, defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN" }));
  });
  return path;
}

function lockPath(path: string): string {
  const name = path.slice(dirname(path).length + 1);
  return join(dirname(path), `.${name.replace(/^\./, "")}.lock`);
}

/**
 * Parses files in the form that `svc` itself writes, without loading the YAML library that keeps
 * positions and comments. Undefined when the built-in parser refuses the text or finds values other
 * than text (where the two could disagree, for example about `0123`).
 */
function quickParse(text: string): unknown {
  try {
    const parsed: unknown = Bun.YAML.parse(text);
    return allText(isRecord(parsed) ? (parsed.tokens ?? {}) : parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function allText(value: unknown): boolean {
  if (typeof value === "string") return true;
  return value !== null && typeof value === "object" && Object.values(value).every(allText);
}

async function parseDocumentOf(path: string, text: string) {
  const { LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(text, { schema: "failsafe", lineCounter: lines, prettyErrors: false });
  const error = document.errors[0];
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new CliError(`${path}:${line}:${col}: ${yamlMessage(error)}`, {
      code: "config_broken",
      hint: "Correct the file, or move it away and run `svc login`.",
      details: { file: path, line, column: col },
    });
  }
  return document;
}

/**
 * The values of a document. Throws CliError for an alias that has no target, or expands to too
 * much; both only show when it is resolved.
 */
function valuesOf(document: { toJS(): unknown }, path: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new CliError(`${path}: ${errorText(error)}`, {
      code: "config_broken",
      hint: "Correct the file, or move it away and run `svc login`.",
      cause: error,
    });
  }
}

function entriesOf(document: unknown, path: string): Map<string, ConfigEntry> {
  const entries = new Map<string, ConfigEntry>();
  if (isEmpty(document)) return entries;
  if (!isRecord(document)) throw wrongShape(path, "a map with the key `tokens`");
  const { tokens } = document;
  if (isEmpty(tokens)) return entries;
  if (!isRecord(tokens)) throw wrongShape(path, "a map below `tokens`");
  for (const [key, fields] of Object.entries(tokens)) {
    if (isEmpty(fields)) continue;
    if (!isRecord(fields)) throw wrongShape(path, `a map below \`tokens\`, \`${key}\``);
    const given = FIELDS.map((field) => [field, fields[field]] as const).filter(
      ([, value]) => typeof value === "string" && !isEmpty(value),
    );
    entries.set(key, Object.fromEntries(given) as ConfigEntry);
  }
  return entries;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === "" || value === "~" || value === "null";
}

function wrongShape(path: string, wanted: string): CliError {
  return new CliError(`${path}: expected ${wanted}`, {
    code: "config_broken",
    hint: "The file holds `tokens: { default: { clientId, clientSecret, apiServer, activeEnvironment } }`; `svc login` writes it.",
  });
}
