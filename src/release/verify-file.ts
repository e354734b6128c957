/**
 * `svc __verify FILE SIGNATURE`: the installer's way to verify signatures on a machine without
 * another program for it.
 */

import { readFile } from "node:fs/promises";
import { verify } from "../domain/release/minisign.ts";
import { withFileName } from "./release-error.ts";
import { trustedKey } from "./signed-document.ts";

/**
 * The trusted comment of the signature, when it is valid for the file and the key of this build.
 * Rejects with the failed check.
 */
export async function verifyFile(file: string, signature: string): Promise<string> {
  const key = trustedKey();
  const [data, text] = await Promise.all([readFile(file), readFile(signature, "utf8")]);
  try {
    return await verify(data, text, key);
  } catch (error) {
    throw withFileName(error, file);
  }
}
