/** SHA-256 of files, read piece by piece. */

import { createReadStream } from "node:fs";

const PIECE_BYTES = 1024 * 1024;

/**
 * Lower-case hex of the file's SHA-256. Rejects with the system's error, and with what `onRead`
 * throws, which gets the length of each piece.
 */
export async function fileHash(path: string, onRead: (bytes: number) => void = () => undefined): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES }) as AsyncIterable<Uint8Array>) {
    hash.update(piece);
    onRead(piece.length);
  }
  return hash.digest("hex");
}
