/** Reading objects whose digest is known, without trusting the store. */

import { type ObjectBody, ObjectMismatch, type ObjectStore } from "./store.ts";

/** Chunks of a content. Throws ObjectMismatch after the last one when the digest differs. */
export async function* verified(body: ObjectBody, sha256: string): AsyncIterable<Uint8Array> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of body instanceof Blob ? body.stream() : body) {
    hasher.update(chunk);
    yield chunk;
  }
  if (hasher.digest("hex") !== sha256) throw new ObjectMismatch(`the stored object ${sha256} is damaged`);
}

/**
 * All bytes of the object whose key is its digest; undefined when there is none. Rejects with
 * ObjectMismatch when it is damaged.
 */
export async function readByDigest(objects: Pick<ObjectStore, "get">, sha256: string): Promise<Uint8Array | undefined> {
  const body = await objects.get(sha256);
  return body && Bun.concatArrayBuffers(await Array.fromAsync(verified(body, sha256)), Number.POSITIVE_INFINITY, true);
}
