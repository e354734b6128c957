/**
 * `svc __verify FILE SIGNATURE`: what the installer checks signatures with on a machine that has no
 * other program for it.
 */

import { readFile } from "node:fs/promises";
import { verify } from "../domain/release/minisign.ts";
import { refusalOf } from "./release-error.ts";
import { trustedKey } from "./signed-document.ts";

/**
 * Resolves with the trusted comment when the signature fits the file and the key of this build.
 * Rejects with what does not.
 */
export async function verifyFile(file: string, signature: string): Promise<string> {
  const key = trustedKey();
  const [data, text] = await Promise.all([readFile(file), readFile(signature, "utf8")]);
  try {
    return await verify(data, text, key);
  } catch (error) {
    throw refusalOf(error, file);
  }
}
