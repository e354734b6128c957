/**
 * The addresses of the stores and where each was set: `--store <name>=<address>`, else
 * `SVC_<NAME>_STORE` of the environment, else `stores.<name>` of `server.yaml` in the data
 * directory, else the data directory.
 */

import { readRegularFile } from "../../disk/regular-file.ts";
import { didYouMean } from "../../domain/closest.ts";
import { errorText } from "../../domain/error-text.ts";
import { StartError } from "../failure.ts";

/** The names of a server's stores. */
export const STORE_NAMES = ["metadata", "object", "online", "offline", "telemetry"] as const;

/** The name of a store. */
export type StoreName = (typeof STORE_NAMES)[number];

/** An address that was set. */
export interface StoreSetting {
  /** `<scheme>:<the rest>`. */
  readonly address: string;
  /** The flag, variable or file that set it, as a user knows it. */
  readonly setBy: string;
}

/** Settings of stores by name; a store without one is in the data directory. */
export type StoreSettings = Partial<Readonly<Record<StoreName, StoreSetting>>>;

/** Name of the server's configuration file in the data directory. */
export const SERVER_FILE = "server.yaml";

const LARGEST_FILE = 1024 * 1024;
const CORRECT = "Correct the file and start again.";

/**
 * Reads the settings.
 * @param sources.flags by name, as `--store` gave them
 * @param sources.file absolute path of the configuration file, which may be missing
 * @throws StartError "setting_invalid" for anything that is not understood: nothing is ignored
 */
export function readStoreSettings(sources: {
  readonly flags: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file: string;
}): StoreSettings {
  const { flags, env, file } = sources;
  const inFile = readServerFile(file);
  for (const name of Object.keys(flags)) refuseUnknown(name, "`--store`");
  const settings = STORE_NAMES.map((name): [StoreName, StoreSetting | undefined] => {
    const variable = `SVC_${name.toUpperCase()}_STORE`;
    const candidates = [
      { address: flags[name], setBy: "`--store`" },
      { address: env[variable] || undefined, setBy: variable },
      { address: inFile[name], setBy: file },
    ];
    return [name, candidates.find((one): one is StoreSetting => one.address !== undefined)];
  });
  return Object.fromEntries(settings.filter(([, setting]) => setting));
}

/** Addresses that the configuration file sets, by store. */
function readServerFile(path: string): Readonly<Record<string, string>> {
  const text = read(path);
  if (text === undefined) return {};
  const content = mapping(parse(text, path), path, "It");
  for (const key of Object.keys(content))
    if (key !== "stores") throw invalid(`${path} has the setting '${key}', which there is not.`, "There is: stores.");
  const stores = mapping(content.stores, path, "'stores'");
  for (const [name, address] of Object.entries(stores)) {
    refuseUnknown(name, path);
    if (typeof address !== "string") throw invalid(`${path}: stores.${name} is not text.`, "An address is `<scheme>:<path>`.");
  }
  return stores as Record<string, string>;
}

function read(path: string): string | undefined {
  try {
    return readRegularFile(path, { maxBytes: LARGEST_FILE })?.toString("utf8");
  } catch (error) {
    throw invalid(errorText(error), CORRECT);
  }
}

function parse(text: string, path: string): unknown {
  try {
    return Bun.YAML.parse(text);
  } catch (error) {
    throw invalid(`${path} is not YAML: ${errorText(error)}.`, CORRECT);
  }
}

function mapping(value: unknown, path: string, what: string): Record<string, unknown> {
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw invalid(`${path} cannot be used: ${what} is not a mapping.`, CORRECT);
  return value as Record<string, unknown>;
}

function refuseUnknown(name: string, where: string): void {
  if (STORE_NAMES.some((known) => known === name)) return;
  throw invalid(`${where}: there is no store '${name}'.`, didYouMean(name, STORE_NAMES) || `The stores are ${STORE_NAMES.join(", ")}.`);
}

function invalid(message: string, hint: string): StartError {
  return new StartError("setting_invalid", message, hint);
}
