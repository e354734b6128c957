/** The server's key: 32 random bytes in a file that only its owner may read. Keys for each purpose are derived from it. */

import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from "node:fs";
import { writePrivateFile } from "../../disk/private-file.ts";
import { StartError } from "../failure.ts";

/** Derived keys. They stay the same as long as the key file does. */
export interface ServerKeys {
  /** Whether the key file was made just now: what an earlier one signed is not taken. */
  readonly isNew: boolean;
  /** Signs access tokens. */
  readonly tokens: Uint8Array;
  /** Signs addresses of objects. */
  readonly objects: Uint8Array;
  /** Signs the forms of the login page. */
  readonly forms: Uint8Array;
}

const KEY_BYTES = 32;

/** Reads the key file, or creates it. A link, another size or rights for others are refused. */
export function loadServerKeys(path: string): ServerKeys {
  const isNew = !existsSync(path);
  if (isNew) writePrivateFile(path, crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
  const master = readPrivate(path);
  if (master.length !== KEY_BYTES) {
    throw new StartError(
      "data_unusable",
      `The key file ${path} is damaged: it holds ${master.length} bytes instead of ${KEY_BYTES}.`,
      `Delete it to have a new one made; everyone has to log in again.`,
    );
  }
  return {
    isNew,
    tokens: derive(master, "access tokens"),
    objects: derive(master, "object addresses"),
    forms: derive(master, "login forms"),
  };
}

function readPrivate(path: string): Uint8Array {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    if (process.platform !== "win32" && (fstatSync(fd).mode & 0o077) !== 0) {
      throw new StartError(
        "data_unusable",
        `Others than its owner may read the key file ${path}.`,
        `Run \`chmod 600 ${path}\`, or delete it to have a new one made.`,
      );
    }
    return new Uint8Array(readFileSync(fd));
  } finally {
    closeSync(fd);
  }
}

function derive(master: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(new Bun.CryptoHasher("sha256", master).update(`svc ${purpose}`).digest().buffer);
}
