/** Files with a signature beside them. */

import { rename, writeFile } from "node:fs/promises";
import { type SecretKey, sign } from "../domain/release/minisign.ts";
import { type TrustedComment, trustedComment } from "../domain/release/trusted-comment.ts";

/** Writes `path` and `path.minisig`, each completely or not at all. */
export async function writeSigned(path: string, text: string, key: SecretKey, comment: TrustedComment): Promise<void> {
  const signature = await sign(Buffer.from(text), key, trustedComment(comment));
  await writeFile(`${path}.new`, text);
  await writeFile(`${path}.minisig.new`, signature);
  await rename(`${path}.minisig.new`, `${path}.minisig`);
  await rename(`${path}.new`, path);
}
