/** The abilities that an editor states: client capabilities, in the terms of the protocol. */

import type { Params } from "./params.ts";

/** The abilities of an editor that answers depend on. */
export interface EditorAbilities {
  /** Whether it reports files that change on the disk. */
  readonly watchesFiles: boolean;
  /** Whether it asks what can be renamed before it asks for the new name. */
  readonly preparesRename: boolean;
  /** Whether it shows the symbols of a document as a tree. */
  readonly takesTrees: boolean;
  /** Whether it takes code actions, and not only commands. */
  readonly takesCodeActions: boolean;
  /** Whether it takes edits of a version of a document. */
  readonly takesVersions: boolean;
}

/**
 * The abilities that the parameters of `initialize` name; one that is malformed or absent is false.
 */
export function editorAbilities({ capabilities }: Params): EditorAbilities {
  const has = (...path: readonly string[]): boolean => {
    let at: unknown = capabilities;
    for (const name of path) at = (at as Record<string, unknown> | null | undefined)?.[name];
    return at !== undefined && at !== null && at !== false;
  };
  return {
    watchesFiles: has("workspace", "didChangeWatchedFiles", "dynamicRegistration"),
    preparesRename: has("textDocument", "rename", "prepareSupport"),
    takesTrees: has("textDocument", "documentSymbol", "hierarchicalDocumentSymbolSupport"),
    takesCodeActions: has("textDocument", "codeAction", "codeActionLiteralSupport"),
    takesVersions: has("workspace", "workspaceEdit", "documentChanges"),
  };
}
