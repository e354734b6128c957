/** Clients with some permissions, made beside the running server in its metadata. */

import { join } from "node:path";
import { hashSecret } from "../../src/server/access/secrets.ts";
import { createSqliteMetadataStore } from "../../src/server/stores/metadata/sqlite.ts";
import type { Platform } from "./platform.ts";

let made = 0;

/** The environment of a client that has these permissions and no other. */
export async function createMetadataClient({ home, env }: Platform, permissions: readonly string[]): Promise<Record<string, string>> {
  const store = createSqliteMetadataStore({ path: join(home, "data/meta.db"), programVersion: "v0.0.0-test", now: () => Date.now() });
  try {
    const [environment] = await store.environments();
    const id = `client_restricted${++made}`;
    await store.createClient({
      id,
      teamId: environment?.teamId ?? "",
      name: id,
      secretHash: hashSecret("restricted"),
      permissions: [...permissions],
      createdAt: 1,
    });
    return { ...env, SVC_CLIENT_ID: id, SVC_CLIENT_SECRET: "restricted" };
  } finally {
    await store.close();
  }
}
