/**
 * The note of the stores that a data directory has had and where they are: `stores.json`. When a
 * noted store is gone, or empty as a power cut can leave it, the start is refused; without the note
 * a new store would be created, and the loss would go unnoticed. Online values, telemetry and
 * metrics are not noted: they may be begun anew.
 */

import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { readPrivateFile, writePrivateFile } from "../../disk/private-file.ts";
import { StartError } from "../failure.ts";
import type { DataDirectory } from "./data-directory.ts";

/**
 * Names of the files, in a data directory, of the stores whose content exists in no other place.
 */
const FILES = { metadata: "meta.db", offline: "offline.db", topics: "topics.db" } as const;

/** The name of a store whose content exists in no other place. */
export type KeptStore = keyof typeof FILES;

/** The location and state of a kept store. */
export interface KeptStoreState {
  /** The name of the store's file in the data directory, or the full path of another location. */
  readonly name: string;
  readonly state: "empty" | "kept" | "renewed";
}

/** The note of a data directory. */
export interface KnownStores {
  /** Adds a store to the note, permanently. Throws DiskError when it cannot be written. */
  add(store: KeptStore): void;
  /**
   * Throws StartError when a store that turned out to be empty is noted: its file is there, but its
   * content is lost.
   */
  refuseEmpty(store: KeptStore): void;
}

const NOTE = "stores.json";

/**
 * Reads the note. When an older version of svc wrote none, or a start ended before it noted the
 * metadata, other files tell whether the store existed.
 * @throws StartError when a store is missing; nothing was changed then
 */
export function readKnownStores(
  directory: Pick<DataDirectory, "path" | "file">,
  states: Readonly<Record<KeptStore, KeptStoreState>>,
): KnownStores {
  const noted = readNote(directory.file(NOTE));
  const entryOf = (store: KeptStore): string => {
    const { name } = states[store];
    return name === FILES[store] ? name : `${store}=${name}`;
  };
  const isKnown = (store: KeptStore): boolean => {
    if (noted?.has(entryOf(store))) return true;
    return states[store].name === FILES[store] && (!noted || store === "metadata") && isImplied(store, directory);
  };
  /** Another location where the store was. */
  const formerOf = (store: KeptStore): string | undefined =>
    [...(noted ?? [])].find((entry) => entry !== entryOf(store) && (entry === FILES[store] || entry.startsWith(`${store}=`)));
  const stores: readonly KeptStore[] = ["metadata", "offline", "topics"];
  for (const store of stores) {
    if (states[store].state !== "empty") continue;
    const path = resolve(directory.path, states[store].name);
    const former = noted?.has(entryOf(store)) ? undefined : formerOf(store);
    if (former !== undefined) throw moved(store, resolve(directory.path, former.replace(`${store}=`, "")), path);
    if (isKnown(store)) throw lost(store, path);
  }
  const known = new Set(noted);
  return {
    add(store) {
      if (known.has(entryOf(store))) return;
      known.add(entryOf(store));
      writePrivateFile(directory.file(NOTE), `${JSON.stringify({ stores: [...known].sort() })}\n`);
    },
    refuseEmpty(store) {
      if (noted?.has(entryOf(store))) throw lost(store, resolve(directory.path, states[store].name));
    },
  };
}

function readNote(path: string): ReadonlySet<string> | undefined {
  try {
    const { stores } = JSON.parse(readPrivateFile(path) ?? "") as { readonly stores?: unknown };
    return Array.isArray(stores) ? new Set(stores.map(String)) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether other files prove that a store existed. The metadata is always created first, and the
 * offline store's file only when it is written to; nothing else tells of topics.
 */
function isImplied(store: KeptStore, directory: Pick<DataDirectory, "file">): boolean {
  if (store === "topics") return false;
  if (store === "offline") return existsSync(directory.file(FILES.offline));
  const files = ["server.key", "online.db", "offline.db", "telemetry.db", "metrics.db", "logs.db", "topics.db"].some((name) =>
    existsSync(directory.file(name)),
  );
  return files || names(directory.file("objects")).some((name) => name !== "incoming") || names(directory.file("deployments")).length > 0;
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const HELD: Readonly<Record<KeptStore, string>> = {
  metadata: "environments, credentials and deployments",
  offline: "the history of all values",
  topics: "the messages of the server's topics",
};

function lost(store: KeptStore, path: string): StartError {
  return new StartError(
    "data_missing",
    `${path} is ${existsSync(path) ? "empty" : "missing"}, and it was not: it held ${HELD[store]}. Nothing was changed.`,
    "Restore it from a backup. To begin without what was in it: `svc server start --new`, which sets all files of the data directory aside and deletes none.",
  );
}

function moved(store: KeptStore, former: string, path: string): StartError {
  return new StartError(
    "data_missing",
    `${path} is empty, and this data directory's ${store} store was ${former}: it held ${HELD[store]}. Nothing was changed.`,
    `Name ${former} as the ${store} store again, or copy it to ${path} while no server runs. To begin without what is in it, choose another data directory with \`--data-dir\`.`,
  );
}
