/**
 * Addresses at which a browser gets the HTML of an output: a frame sends no credentials, so they
 * are signed, name one text of one cell, and end.
 */

import type { CellOutput } from "../../domain/notebook/notebook.ts";
import { isSignedBy, type KeyRing, signWith } from "../access/keys.ts";
import type { NotebookRecord } from "../stores/metadata/notebooks.ts";

/** Path below which outputs are. */
export const OUTPUTS_PATH = "/v1/notebook-outputs/";
/**
 * Addresses of one time have the same end, so that they stay the same and a frame is not loaded
 * again.
 */
const PERIOD_S = 3_600;

/** One text of HTML that a cell gave. */
export interface HtmlOutput {
  readonly environmentId: string;
  readonly notebookId: string;
  readonly cellId: string;
  /** Of the text: SHA-256 in base64url. */
  readonly digest: string;
}

/** The outputs that have a form in HTML, with their places. */
export function htmlOutputs(outputs: readonly CellOutput[]): { readonly index: number; readonly html: string }[] {
  return outputs.flatMap((output, index) => {
    const html = output.kind === "display" || output.kind === "result" ? output.data["text/html"] : undefined;
    return html === undefined ? [] : [{ index, html }];
  });
}

/** The output of a cell with this text. */
export function outputOf({ environmentId, id }: Pick<NotebookRecord, "environmentId" | "id">, cellId: string, html: string): HtmlOutput {
  return { environmentId, notebookId: id, cellId, digest: new Bun.CryptoHasher("sha256").update(html).digest("base64url") };
}

/** The path of an output, which is valid for one to two hours. @param now epoch milliseconds */
export function outputPath(keys: KeyRing, output: HtmlOutput, now: number): string {
  const expires = String((Math.floor(now / 1000 / PERIOD_S) + 2) * PERIOD_S);
  const { environmentId, notebookId, cellId, digest } = output;
  const query = new URLSearchParams({ expires, signature: signWith(keys, signedParts(output, expires)) });
  return `${OUTPUTS_PATH}${[environmentId, notebookId, cellId, digest].map(encodeURIComponent).join("/")}?${query}`;
}

/**
 * The output that a path names; `refused` says why a path is not followed: another one did not sign
 * it, or it has ended.
 */
export function outputAt(keys: KeyRing, { pathname, searchParams }: URL, now: number): HtmlOutput | { readonly refused: string } {
  const parts = pathname.slice(OUTPUTS_PATH.length).split("/");
  const [environmentId = "", notebookId = "", cellId = "", digest = ""] = parts;
  const [expires = "", signature = ""] = [searchParams.get("expires") ?? "", searchParams.get("signature") ?? ""];
  const output = { environmentId, notebookId, cellId, digest };
  if (parts.length !== 4 || !isSignedBy(keys, signedParts(output, expires), signature))
    return { refused: "The address is not one that this server gave." };
  return Number(expires) * 1000 > now ? output : { refused: "The address has ended. Load the notebook again." };
}

function signedParts({ environmentId, notebookId, cellId, digest }: HtmlOutput, expires: string): readonly string[] {
  return ["notebook output", environmentId, notebookId, cellId, digest, expires];
}
