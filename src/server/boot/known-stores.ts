/**
 * Which stores a data directory has had, and where: `stores.json`. A store that was there and is
 * gone, or is empty as a power cut can leave it, is missed; without the note it would be begun
 * anew, and everything in it would be gone without a word. Online values and telemetry are not
 * noted: they are caches and records that may be begun anew.
 */

import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { readPrivateFile, writePrivateFile } from "../../disk/private-file.ts";
import { StartError } from "../failure.ts";
import type { DataDirectory } from "./data-directory.ts";

/** Stores that hold what exists in no other place: the names of their files in a data directory. */
const FILES = { metadata: "meta.db", offline: "offline.db" } as const;

/** A store that holds what exists in no other place. */
export type KeptStore = keyof typeof FILES;

/** Where a kept store is now. */
export interface KeptPlace {
  /** The store's file in the data directory by its name there, any other place in full. */
  readonly name: string;
  readonly state: "empty" | "kept" | "renewed";
}

/** The note of a data directory. */
export interface KnownStores {
  /** Notes that a store is there, for good. Throws DiskError when that cannot be written. */
  add(store: KeptStore): void;
  /**
   * Refuses a store that turned out to hold nothing, if it is noted: its file is there, but what
   * was in it is not. Throws StartError.
   */
  refuseEmpty(store: KeptStore): void;
}

const NOTE = "stores.json";

/**
 * Reads the note. A directory of a version that wrote none is told by its files, and so is one
 * whose note lacks the metadata: a start can end between two lines of it.
 * @throws StartError when a store is missing; nothing was changed then
 */
export function readKnownStores(
  directory: Pick<DataDirectory, "path" | "file">,
  places: Readonly<Record<KeptStore, KeptPlace>>,
): KnownStores {
  const noted = readNote(directory.file(NOTE));
  const entryOf = (store: KeptStore): string => {
    const { name } = places[store];
    return name === FILES[store] ? name : `${store}=${name}`;
  };
  const isKnown = (store: KeptStore): boolean => {
    if (noted?.has(entryOf(store))) return true;
    return places[store].name === FILES[store] && (!noted || store === "metadata") && isImplied(store, directory);
  };
  /** Another place where the store was. */
  const formerOf = (store: KeptStore): string | undefined =>
    [...(noted ?? [])].find((entry) => entry !== entryOf(store) && (entry === FILES[store] || entry.startsWith(`${store}=`)));
  const stores: readonly KeptStore[] = ["metadata", "offline"];
  for (const store of stores) {
    if (places[store].state !== "empty") continue;
    const path = resolve(directory.path, places[store].name);
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
      if (noted?.has(entryOf(store))) throw lost(store, resolve(directory.path, places[store].name));
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
 * Whether other files are there only because this store was. The metadata is always made first, the
 * offline store's file only to write to it.
 */
function isImplied(store: KeptStore, directory: Pick<DataDirectory, "file">): boolean {
  if (store === "offline") return existsSync(directory.file(FILES.offline));
  const files = ["server.key", "online.db", "offline.db", "telemetry.db"].some((name) => existsSync(directory.file(name)));
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
