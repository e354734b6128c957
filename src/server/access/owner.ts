/**
 * The owner of a server: the user who can read its private files. Each start makes credentials for
 * the owner, in a private file beside the data; they are valid while the server runs and are in no
 * store. Being on the same machine proves nothing.
 */

import { rmSync } from "node:fs";
import { writePrivateFile } from "../../disk/private-file.ts";
import { FULL_ACCESS } from "../../domain/permissions.ts";
import { newId } from "../identifier.ts";
import type { ClientRecord } from "../stores/metadata/identity.ts";
import { hashSecret, newSecret } from "./secrets.ts";

/** Name of the file in the data directory. */
export const OWNER_FILE = "server.owner.json";

/** Whom the owner's credentials act for, those of the first start too. */
export const OWNER_PERSON = "owner";
/** The name of the owner's client. */
export const OWNER_NAME = "owner of the server";

/** The owner of a running server. */
export interface Owner {
  readonly client: ClientRecord;
  /** Writes the credentials with the server's URL to the file. Throws DiskError. */
  announce(url: string): void;
  /** Removes the file. */
  withdraw(): void;
}

/** Makes the owner of a server that starts. */
export function createOwner(path: string, teamId: string, now: number): Owner {
  const secret = newSecret("svcs");
  const client: ClientRecord = {
    id: newId("client", now),
    teamId,
    name: OWNER_NAME,
    secretHash: hashSecret(secret),
    permissions: FULL_ACCESS,
    createdAt: now,
    personId: OWNER_PERSON,
  };
  return {
    client,
    announce(url) {
      const content = { url, client_id: client.id, client_secret: secret };
      writePrivateFile(path, `${JSON.stringify(content, undefined, 2)}\n`, { durable: false });
    },
    withdraw: () => rmSync(path, { force: true }),
  };
}
