/** What an editor says that it can take. */

import type { Params } from "./params.ts";

/** Its abilities, as far as answers depend on them. */
export interface EditorAbilities {
  /** It tells of files that change on the disk. */
  readonly watchesFiles: boolean;
  /** It asks what can be renamed before it asks for the new name. */
  readonly preparesRename: boolean;
  /** It shows the symbols of a document as a tree. */
  readonly takesTrees: boolean;
  /** It takes code actions, and not only commands. */
  readonly takesCodeActions: boolean;
  /** It takes edits of a version of a document. */
  readonly takesVersions: boolean;
}

/** The abilities that the parameters of `initialize` name; what is broken or not named is none. */
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
