/** SHA-256 of files, read piece by piece. */

import { createReadStream } from "node:fs";

/** Lower-case hex of the file's SHA-256. Rejects with the system's error. */
export async function fileHash(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}
