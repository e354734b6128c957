/**
 * The addresses of the stores and where each was set: `--store <name>=<address>`, else
 * `SVC_<NAME>_STORE` of the environment, else `stores.<name>` of `server.yaml` in the data
 * directory, else the data directory.
 */

import { didYouMean } from "../../domain/closest.ts";
import { invalidSetting, type ServerFile } from "./server-file.ts";

/** The names of a server's stores. */
export const STORE_NAMES = ["metadata", "object", "online", "offline", "tiles", "telemetry", "metrics", "logs", "topics"] as const;

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

/**
 * Reads the settings.
 * @param sources.flags by name, as `--store` gave them
 * @throws StartError "setting_invalid" for anything that is not understood: nothing is ignored
 */
export function readStoreSettings(sources: {
  readonly flags: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file: ServerFile;
}): StoreSettings {
  const { flags, env, file } = sources;
  const inFile = storesOf(file);
  for (const name of Object.keys(flags)) refuseUnknown(name, "`--store`");
  const settings = STORE_NAMES.map((name): [StoreName, StoreSetting | undefined] => {
    const variable = `SVC_${name.toUpperCase()}_STORE`;
    const candidates = [
      { address: flags[name], setBy: "`--store`" },
      { address: env[variable] || undefined, setBy: variable },
      { address: inFile[name], setBy: file.path },
    ];
    return [name, candidates.find((one): one is StoreSetting => one.address !== undefined)];
  });
  return Object.fromEntries(settings.filter(([, setting]) => setting));
}

/** Addresses that the configuration file sets, by store. */
function storesOf({ path, stores }: ServerFile): Readonly<Record<string, string>> {
  for (const [name, address] of Object.entries(stores)) {
    refuseUnknown(name, path);
    if (typeof address !== "string") throw invalidSetting(`${path}: stores.${name} is not text.`, "An address is `<scheme>:<path>`.");
  }
  return stores as Record<string, string>;
}

function refuseUnknown(name: string, where: string): void {
  if (STORE_NAMES.some((known) => known === name)) return;
  throw invalidSetting(
    `${where}: there is no store '${name}'.`,
    didYouMean(name, STORE_NAMES) || `The stores are ${STORE_NAMES.join(", ")}.`,
  );
}
