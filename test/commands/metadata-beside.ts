/** Clients and environments, made beside the running server in its metadata. */

import { join } from "node:path";
import { hashSecret } from "../../src/server/access/secrets.ts";
import { createSqliteMetadataStore } from "../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../src/server/stores/metadata/store.ts";
import type { Platform } from "./platform.ts";

let made = 0;

async function beside<T>({ home }: Platform, work: (store: MetadataStore) => Promise<T>): Promise<T> {
  const store = createSqliteMetadataStore({ path: join(home, "data/meta.db"), programVersion: "v0.0.0-test", now: () => Date.now() });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The environment variables of a client that has these permissions and no other. */
export function createMetadataClient(platform: Platform, permissions: readonly string[]): Promise<Record<string, string>> {
  return beside(platform, async (store) => {
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
    return { ...platform.env, SVC_CLIENT_ID: id, SVC_CLIENT_SECRET: "restricted" };
  });
}

/** Another environment of the first project. */
export function createMetadataEnvironment(platform: Platform, name: string): Promise<void> {
  return beside(platform, async (store) => {
    const [environment] = await store.environments();
    await store.createEnvironment({ id: `env_${name}`, name, projectId: environment?.projectId ?? "", createdAt: 1 });
  });
}
