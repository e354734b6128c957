/**
 * The object store: byte strings under keys. Every stored object is complete: a put that is
 * interrupted, or whose bytes differ from the announced ones, stores nothing. The caller chooses
 * the keys; the key of an object named by its digest is the 64 hex digits. The conformance suite in
 * the tests runs against every driver.
 */

/** Most bytes of an object: 128 MiB. */
export const MAX_OBJECT_BYTES = 128 * 1024 * 1024;

/** Most bytes of an object that the server itself puts together: 4 GiB. */
export const MAX_LARGE_OBJECT_BYTES = 4 * 1024 * 1024 * 1024;

/**
 * The error for bytes that differ from the announced ones, or stored bytes that differ from those
 * that were put.
 */
export class ObjectMismatch extends Error {
  override readonly name = "ObjectMismatch";
}

/** Announced properties of an object to be put. */
export interface PutOptions {
  /** Its length in bytes; default: any up to `most`. */
  readonly size?: number;
  /** Most bytes, up to `MAX_LARGE_OBJECT_BYTES`; default `MAX_OBJECT_BYTES`. */
  readonly most?: number;
  /** Its SHA-256, lower-case hex; default: not checked. */
  readonly sha256?: string;
  /** Keep an object that exists under the key. Of several concurrent puts, one stores. */
  readonly ifAbsent?: boolean;
}

/** An object as it was stored. */
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

/** Content that is read lazily. */
export type ObjectBody = Blob | ReadableStream<Uint8Array>;

/** An object of a list. */
export interface ListedObject {
  readonly key: string;
  /** Length in bytes. */
  readonly size: number;
}

/** The purpose of a signed address. */
export type ObjectOperation = "put" | "get";

/**
 * An address that needs no token: it gives access to one object for one purpose until it expires.
 */
export interface SignedAddress {
  /** Relative to this server, or in full where the driver's objects are elsewhere. */
  readonly url: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** The content of a signed address, or the reason why it is refused. */
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
   * Stores a stream's content, replacing an earlier object. Undefined when `ifAbsent` is set and
   * there is an object. Rejects with the stream's error when it fails.
   * @throws ObjectMismatch when size or digest are not the announced ones, or it is too long
   */
  put(key: string, body: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<PutObject | undefined>;
  /** The content, or a range that lies within it; undefined when there is no such object. */
  get(key: string, range?: ByteRange): Promise<ObjectBody | undefined>;
  /** Size in bytes, or undefined when there is no such object. */
  size(key: string): Promise<number | undefined>;
  /**
   * Objects whose keys begin with `prefix` and come after the key `after`, in the order of their
   * keys' bytes, at most `limit`.
   */
  list(options: { readonly prefix?: string; readonly after?: string; readonly limit: number }): Promise<ListedObject[]>;
  /** Deletes an object; does nothing when there is none. */
  delete(key: string): Promise<void>;
  /** An address to put an object of that size, or to get one. */
  sign(operation: ObjectOperation, key: string, size: number): Promise<SignedAddress>;
  /** Checks the store's addresses; undefined when they do not lead to this server. */
  readonly addresses: Pick<ObjectAddresses, "check"> | undefined;
  /** Writes, reads and deletes an object. Rejects when that fails. */
  probe(): Promise<void>;
}
