/**
 * Which stores a data directory has had: `stores.json`. A store that was there and is gone, or is empty as a power cut can leave it, is missed; without the note it would be
 * begun anew, and everything in it would be gone without a word. Online values and telemetry are not noted: they are caches and records that may be begun anew.
 */

import { existsSync, readdirSync } from "node:fs";
import { readPrivateFile, writePrivateFile } from "../../disk/private-file.ts";
import { StartError } from "../failure.ts";
import type { DataDirectory } from "./data-directory.ts";

/** Stores that hold what exists in no other place. */
export type KeptStore = "meta.db" | "offline.db";

/** The note of a data directory. */
export interface KnownStores {
  /** Notes that a store is there, for good. Throws DiskError when that cannot be written. */
  add(store: KeptStore): void;
  /** Refuses a store that turned out to hold nothing, if it is noted: its file is there, but what was in it is not. Throws StartError. */
  refuseEmpty(store: KeptStore): void;
}

const NOTE = "stores.json";

/**
 * Reads the note. A directory of a version that wrote none is told by its files, and so is one whose note lacks the metadata: a start can end between two lines of it.
 * @param isEmpty whether there is no file of that name, or one in which nothing was ever stored
 * @throws StartError when a store is missing; nothing was changed then
 */
export function readKnownStores(directory: Pick<DataDirectory, "path" | "file">, isEmpty: (store: KeptStore) => boolean): KnownStores {
  const noted = readNote(directory.file(NOTE));
  const isKnown = (store: KeptStore): boolean => noted?.has(store) || ((!noted || store === "meta.db") && isImplied(store, directory));
  const kept: readonly KeptStore[] = ["meta.db", "offline.db"];
  for (const store of kept) if (isEmpty(store) && isKnown(store)) throw lost(store, directory);
  const known = new Set(kept.filter((store) => noted?.has(store)));
  return {
    add(store) {
      if (known.has(store)) return;
      known.add(store);
      writePrivateFile(directory.file(NOTE), `${JSON.stringify({ stores: [...known].sort() })}\n`);
    },
    refuseEmpty(store) {
      if (noted?.has(store)) throw lost(store, directory);
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

/** Whether other files are there only because this store was. The metadata is always made first, the offline store's file only to write to it. */
function isImplied(store: KeptStore, directory: Pick<DataDirectory, "file">): boolean {
  if (store === "offline.db") return existsSync(directory.file(store));
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

function lost(store: KeptStore, directory: Pick<DataDirectory, "path" | "file">): StartError {
  const path = directory.file(store);
  const holds = store === "meta.db" ? "environments, credentials and deployments" : "the history of all values";
  return new StartError(
    "data_missing",
    `${path} is ${existsSync(path) ? "empty" : "missing"}, and it was not: it held ${holds}. Nothing was changed.`,
    "Restore it from a backup. To begin without what was in it: `svc server start --new`, which sets all files of the data directory aside and deletes none.",
  );
}
