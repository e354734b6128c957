/**
 * The database library, loaded into this process: only ever into a child, because a fault in it
 * ends the process.
 */

import type * as bindings from "@duckdb/node-bindings";
import { TableError } from "../engine.ts";
import { type LibraryFiles, libraryFiles } from "./library-files.ts";
import { unpackLibrary } from "./unpack-library.ts";

/** The functions of the library, as C programs call them. */
export type Library = typeof bindings;

/**
 * Loads the library.
 * @param folders where a binary unpacks it, the first that can be written
 * @throws TableError `unavailable` when this machine cannot load it, with what is missing
 */
export function loadLibrary(folders: readonly string[], files: LibraryFiles = libraryFiles()): Library {
  if (files.kind === "absent") throw new TableError("unavailable", `this svc has no table engine: ${files.reason}`);
  const addon = files.kind === "installed" ? files.addon : unpackLibrary(files, folders);
  const module = { exports: {} };
  try {
    process.dlopen(module, addon);
  } catch (error) {
    throw new TableError("unavailable", cannotLoad(error instanceof Error ? error.message : String(error)));
  }
  return module.exports as Library;
}

function cannotLoad(message: string): string {
  const [, missing] =
    /(lib[\w+.-]+\.so[\w.]*): cannot open shared object/.exec(message) ?? /Error loading shared library (\S+?):/.exec(message) ?? [];
  const what = missing ? `${missing} is missing on this machine` : message;
  const install = /libstdc\+\+|libgcc/.test(missing ?? message)
    ? "; install it (Debian and Ubuntu: `apt-get install libstdc++6`; Alpine: `apk add libstdc++`; Fedora: `dnf install libstdc++`)"
    : "";
  return `the table engine cannot be loaded: ${what}${install}`;
}
