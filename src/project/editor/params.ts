/**
 * Parameters of an editor's messages, checked where a malformed one would otherwise be taken for
 * something else.
 */

import type { LspPosition, LspRange } from "../../output/diagnostic.ts";
import { filePath } from "./project-texts.ts";
import { RPC_ERRORS, RpcError } from "./rpc.ts";

/** Parameters as they came. */
export type Params = Readonly<Record<string, unknown>>;

/** A document as an editor names it. */
export interface DocumentParams {
  readonly uri: string;
  readonly version?: number;
  readonly text?: string;
}

/** The document that a message is about. Throws RpcError. */
export function documentOf({ textDocument }: Params): DocumentParams {
  if (typeof (textDocument as DocumentParams | undefined)?.uri !== "string") throw invalid("textDocument.uri is no text");
  return textDocument as DocumentParams;
}

/** The position in a document that a request is about. Throws RpcError. */
export function positionOf({ position }: Params): LspPosition {
  const { line, character } = (position ?? {}) as Partial<LspPosition>;
  if (!Number.isInteger(line) || !Number.isInteger(character)) throw invalid("a position is no line and character");
  return position as LspPosition;
}

/** The part of a document that a request is about. Throws RpcError. */
export function rangeIn({ range }: Params): LspRange {
  const { start, end } = (range ?? {}) as Partial<LspRange>;
  return { start: positionOf({ position: start }), end: positionOf({ position: end }) };
}

/** A text among the parameters. Throws RpcError. */
export function textIn(params: Params, name: string): string {
  const text = params[name];
  if (typeof text !== "string") throw invalid(`${name} is no text`);
  return text;
}

/** Whether references are to have the definition among them. */
export function includesDefinition({ context }: Params): boolean {
  return (context as { includeDeclaration?: unknown } | undefined)?.includeDeclaration !== false;
}

/** The text of a document after its changes, each of which is the whole of it. Throws RpcError. */
export function changedText({ contentChanges }: Params): string | undefined {
  if (!Array.isArray(contentChanges)) throw invalid("contentChanges is no array");
  const last = contentChanges.at(-1) as { readonly text?: unknown; readonly range?: unknown } | undefined;
  if (!last) return undefined;
  if (typeof last.text !== "string" || last.range !== undefined)
    throw invalid("a change is not the whole text, which the server asked for");
  return last.text;
}

/** The folders that an editor opens. */
export function rootFolders({ workspaceFolders, rootUri }: Params): string[] {
  const folders: readonly { uri?: unknown }[] = Array.isArray(workspaceFolders) ? workspaceFolders : [];
  const uris = folders.length > 0 ? folders.map(({ uri }) => uri) : [rootUri];
  return uris.map(filePath).filter((path) => path !== undefined);
}

function invalid(problem: string): RpcError {
  return new RpcError(RPC_ERRORS.invalidParams, problem);
}
