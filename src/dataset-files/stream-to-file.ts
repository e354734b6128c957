/** Bytes that come in pieces, into a file that appears when it is whole. */

import { open, rm } from "node:fs/promises";
import { renameInPlace } from "../disk/rename.ts";
import { fromSystem } from "../errors/from-system.ts";

/**
 * Writes pieces to a file, replacing one of its name; returns the number of bytes. Rejects with a
 * CliError when it cannot be written, and with what the pieces reject with; nothing is left then.
 */
export async function streamToFile(pieces: AsyncIterable<Uint8Array>, path: string): Promise<number> {
  const beside = `${path}.${crypto.randomUUID()}.partial`;
  const said = (error: unknown): unknown => fromSystem(error, `write ${path}`) ?? error;
  let bytes = 0;
  try {
    const file = await open(beside, "wx").catch((error: unknown) => Promise.reject(said(error)));
    try {
      for await (const piece of pieces) {
        await file.writeFile(piece).catch((error: unknown) => Promise.reject(said(error)));
        bytes += piece.length;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await renameInPlace(beside, path).catch((error: unknown) => Promise.reject(said(error)));
    return bytes;
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
