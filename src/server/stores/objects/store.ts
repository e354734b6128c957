/**
 * The object store: byte strings under keys. What is there is complete: a put that breaks off, or
 * whose bytes are not those that were announced, leaves nothing. Keys are chosen by whoever puts;
 * objects that are named by their digest have its 64 hex digits as their key. The conformance suite
 * in the tests runs against every driver.
 */

/** Most bytes of an object: 128 MiB. */
export const MAX_OBJECT_BYTES = 128 * 1024 * 1024;

/**
 * The bytes that came are not the bytes that were announced, or those that are there are not the
 * ones that were put.
 */
export class ObjectMismatch extends Error {
  override readonly name = "ObjectMismatch";
}

/** What is said of an object before it comes. */
export interface PutOptions {
  /** Its length in bytes; default: at most `MAX_OBJECT_BYTES` that nobody announced. */
  readonly size?: number;
  /** Its SHA-256, lower-case hex; default: it is not checked. */
  readonly sha256?: string;
  /** Keep what is there already under the key. Of several that put at once, one does. */
  readonly ifAbsent?: boolean;
}

/** An object as it was taken. */
export interface PutObject {
  /** Length in bytes. */
  readonly size: number;
  /** SHA-256, lower-case hex. */
  readonly sha256: string;
}

/** Bytes from `start` (inclusive) to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Content that is read as it is taken. */
export type ObjectBody = Blob | ReadableStream<Uint8Array>;

/** An object of a list. */
export interface ListedObject {
  readonly key: string;
  /** Length in bytes. */
  readonly size: number;
}

/** What an address is for. */
export type ObjectOperation = "put" | "get";

/** An address that needs no token: it opens one object for one purpose until it ends. */
export interface SignedAddress {
  /** Relative to this server, or in full where the driver's objects are elsewhere. */
  readonly url: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** What a signed address says, or why it is refused. */
export type CheckedAddress =
  | { readonly operation: ObjectOperation; readonly key: string; readonly size: number }
  | { readonly refused: string };

/** Signs addresses that lead to this server, and checks them. */
export interface ObjectAddresses {
  sign(operation: ObjectOperation, key: string, size: number): SignedAddress;
  check(url: URL): CheckedAddress;
}

/**
 * The store. A key has 2 to 512 characters: parts of lower-case letters, digits, `.`, `_` and `-`
 * that begin and end with a letter or digit, joined by `/`; the first part has at least two
 * characters. No key may be another one followed by `/` and more.
 */
export interface ObjectStore {
  /**
   * Takes a stream and keeps it in the place of what was there. Undefined when `ifAbsent` is asked
   * and something is there. Rejects with the stream's error when it breaks off.
   * @throws ObjectMismatch when size or digest are not the announced ones, or it is too long
   */
  put(key: string, body: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<PutObject | undefined>;
  /** The content, or a part of it that lies within; undefined when there is no such object. */
  get(key: string, range?: ByteRange): Promise<ObjectBody | undefined>;
  /** Size in bytes, or undefined when there is no such object. */
  size(key: string): Promise<number | undefined>;
  /**
   * Objects whose keys begin with `prefix` and come after the key `after`, in the order of their
   * keys' bytes, at most `limit`.
   */
  list(options: { readonly prefix?: string; readonly after?: string; readonly limit: number }): Promise<ListedObject[]>;
  /** Deletes an object; one that is not there is none the less deleted. */
  delete(key: string): Promise<void>;
  /** An address to put an object of that size, or to get one. */
  sign(operation: ObjectOperation, key: string, size: number): Promise<SignedAddress>;
  /** Checks the store's addresses, where they lead to this server. */
  readonly addresses: Pick<ObjectAddresses, "check"> | undefined;
  /** Writes, reads and deletes an object. Rejects when that fails. */
  probe(): Promise<void>;
}
