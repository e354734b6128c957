/**
 * The server's keys: secrets of 32 random bytes, from which keys for each purpose are derived. A
 * single server makes its own, in a file that only its owner may read; several nodes are given the
 * same keys. The first key signs, and all of them verify. A key is rotated by putting a new one in
 * front and removing the old one when nothing that it signed is needed any more.
 */

import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from "node:fs";
import { reasonAt } from "../../disk/disk-error.ts";
import { writePrivateFile } from "../../disk/private-file.ts";
import { StartError } from "../failure.ts";
import { equalInConstantTime, sign } from "./secrets.ts";

/** Environment variable with the path of a file of keys. */
export const KEY_FILE_VARIABLE = "SVC_SERVER_KEY_FILE";
/** Environment variable with the keys themselves. */
export const KEY_VARIABLE = "SVC_SERVER_KEY";

/** A key for one purpose. */
export interface DerivedKey {
  /** Twelve hex digits that are derived from the key and reveal nothing of it. */
  readonly id: string;
  readonly secret: Uint8Array;
}

/** The keys for one purpose: the first signs, all verify. There is at least one. */
export type KeyRing = readonly DerivedKey[];

/** The keys of a server, derived from its secrets: the same secrets give the same keys. */
export interface ServerKeys {
  /** Whether the secret was made by this start, so that earlier signatures are not valid. */
  readonly isNew: boolean;
  /** Keys for access tokens. */
  readonly tokens: KeyRing;
  /** Keys for addresses of objects, and for page tokens. */
  readonly objects: KeyRing;
  /** Keys for the forms of the login page. */
  readonly forms: KeyRing;
  /** Keys for requests that one node's gateway passes to another's. */
  readonly hops: KeyRing;
  /** Keys for secrets at rest. */
  readonly sealing: KeyRing;
}

const KEY_BYTES = 32;
const MOST_KEYS = 16;
const FORMAT = `Expected keys of ${KEY_BYTES} bytes in base64, one in a line: the first signs, all are taken. \`head -c ${KEY_BYTES} /dev/urandom | base64\` makes one.`;

/**
 * Reads the keys from the environment, else from the server's own file, which is created when it
 * does not exist. A file of 32 bytes is one key; any other is text with a key in base64 on each
 * line, and comments after `#`. Throws StartError for a file that is open to others, cannot be read
 * or has no keys.
 */
export function loadServerKeys(path: string, env: Readonly<Record<string, string | undefined>> = {}): ServerKeys {
  const { [KEY_FILE_VARIABLE]: sharedPath, [KEY_VARIABLE]: given } = env;
  if (sharedPath && given)
    throw new StartError(
      "setting_invalid",
      `Both ${KEY_FILE_VARIABLE} and ${KEY_VARIABLE} are set.`,
      "Give the server's keys by one of them.",
    );
  if (given) return keysOf(readText(given, `${KEY_VARIABLE} of the environment`, "setting_invalid"), false);
  if (sharedPath) return keysOf(readKeys(sharedFile(sharedPath), `The key file ${sharedPath}`, "setting_invalid"), false);
  const isNew = !existsSync(path);
  if (isNew) writePrivateFile(path, crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
  return keysOf(readKeys(ownFile(path), `The key file ${path}`, "data_unusable"), isNew);
}

/** Signs parts with the ring's first key: the key's id, a dot, and an HMAC in base64url. */
export function signWith(ring: KeyRing, parts: readonly string[]): string {
  const key = currentKey(ring);
  return `${key.id}.${sign(key.secret, parts)}`;
}

/** The key that signs. */
export function currentKey([first]: KeyRing): DerivedKey {
  if (!first) throw new Error("a ring of keys is empty");
  return first;
}

/** Whether one of the ring's keys made a signature of these parts. */
export function isSignedBy(ring: KeyRing, parts: readonly string[], signature: string): boolean {
  const [first = "", second] = signature.split(".", 2);
  const [id, mac] = second === undefined ? [undefined, first] : [first, second];
  const key = keyNamed(ring, id);
  return key !== undefined && equalInConstantTime(mac, sign(key.secret, parts));
}

/**
 * The key with an id; for an undefined id the last key, which is the oldest: signatures without an
 * id are of a version that had one key.
 */
export function keyNamed(ring: KeyRing, id: string | undefined): DerivedKey | undefined {
  return id === undefined ? ring.at(-1) : ring.find((key) => key.id === id);
}

function keysOf(masters: readonly Uint8Array[], isNew: boolean): ServerKeys {
  const ring = (purpose: string) =>
    masters.map((master) => ({ id: derive(master, "key id").toHex().slice(0, 12), secret: derive(master, purpose) }));
  return {
    isNew,
    tokens: ring("access tokens"),
    objects: ring("object addresses"),
    forms: ring("login forms"),
    hops: ring("hops between gateways"),
    sealing: ring("secrets at rest"),
  };
}

function readKeys(bytes: Uint8Array, where: string, code: "data_unusable" | "setting_invalid"): Uint8Array[] {
  return bytes.length === KEY_BYTES ? [bytes] : readText(new TextDecoder().decode(bytes), where, code);
}

function readText(text: string, where: string, code: "data_unusable" | "setting_invalid"): Uint8Array[] {
  const words = text.replace(/#.*/g, "").split(/[\s,]+/);
  const keys = words.filter((word) => word !== "").map(decodeKey);
  const wrong = keys.indexOf(undefined);
  const problem =
    keys.length === 0
      ? "has no key"
      : keys.length > MOST_KEYS
        ? `has more than ${MOST_KEYS} keys`
        : wrong >= 0 && `cannot be used: key ${wrong + 1} is not ${KEY_BYTES} bytes in base64`;
  if (problem === false) return keys as Uint8Array[];
  const anew = code === "data_unusable" ? " Or delete it to have a new one made; everyone has to log in again." : "";
  throw new StartError(code, `${where} ${problem}.`, `${FORMAT}${anew}`);
}

function decodeKey(word: string): Uint8Array | undefined {
  try {
    const key = Uint8Array.fromBase64(word.replaceAll("-", "+").replaceAll("_", "/"));
    return key.length === KEY_BYTES ? key : undefined;
  } catch {
    return undefined;
  }
}

/** The content of the server's own file, which must not be a link nor readable by others. */
function ownFile(path: string): Uint8Array {
  return readPrivate(path, { flags: constants.O_RDONLY | constants.O_NOFOLLOW, closedTo: 0o077 }, () => {
    throw new StartError(
      "data_unusable",
      `Others than its owner may read the key file ${path}.`,
      `Run \`chmod 600 ${path}\`, or delete it to have a new one made.`,
    );
  });
}

/**
 * The content of a file that several nodes share. It may be a link and readable by its group, as
 * secrets that are mounted into containers are.
 */
function sharedFile(path: string): Uint8Array {
  const refuse = (problem: string, hint: string): never => {
    throw new StartError("setting_invalid", `The key file ${path}, which ${KEY_FILE_VARIABLE} names, ${problem}.`, hint);
  };
  try {
    return readPrivate(path, { flags: constants.O_RDONLY, closedTo: 0o007 }, () =>
      refuse("can be read by everybody", `Run \`chmod o= ${path}\`, or mount the secret with the mode 0440.`),
    );
  } catch (error) {
    if (error instanceof StartError) throw error;
    return refuse(`cannot be read: ${reasonAt(path, error)}`, FORMAT);
  }
}

function readPrivate(path: string, { flags, closedTo }: { flags: number; closedTo: number }, refuse: () => never): Uint8Array {
  const fd = openSync(path, flags);
  try {
    if (process.platform !== "win32" && (fstatSync(fd).mode & closedTo) !== 0) refuse();
    return new Uint8Array(readFileSync(fd));
  } finally {
    closeSync(fd);
  }
}

function derive(master: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(new Bun.CryptoHasher("sha256", master).update(`svc ${purpose}`).digest().buffer);
}
