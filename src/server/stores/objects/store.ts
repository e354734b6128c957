/** The object store: whole byte strings, named by their SHA-256. What is there is complete and was checked. */

/** The bytes that came are not the bytes that were announced; nothing was kept. */
export class ObjectMismatch extends Error {
  override readonly name = "ObjectMismatch";
}

/** The store. Names are lower-case hex SHA-256 digests. */
export interface ObjectStore {
  /**
   * Takes a stream and keeps it when its digest is `sha256` and its length `size`. A stream that breaks off or does not match leaves nothing; putting the
   * same bytes again changes nothing.
   * @throws ObjectMismatch
   */
  put(sha256: string, size: number, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** Size in bytes, or undefined when the object is not there. */
  size(sha256: string): Promise<number | undefined>;
  /** Bytes from `start` (inclusive) to `end` (exclusive) as a blob that is read as it is sent. The object must be there. */
  slice(sha256: string, start: number, end: number): Blob;
  /** All bytes, checked against the digest. Rejects when the object is missing or damaged. */
  read(sha256: string): Promise<Uint8Array>;
  delete(sha256: string): Promise<void>;
  /** Writes, reads and deletes an object. Rejects when that fails. */
  probe(): Promise<void>;
}
