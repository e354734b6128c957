/** The capabilities of cloud accounts, storage configurations and connections to offline stores. */

import { Failure } from "../failure.ts";
import { type CloudAccounts, createCloudAccounts } from "./cloud-accounts.ts";
import { named } from "./named.ts";
import { createOfflineConnections, type OfflineConnectionParts, type OfflineConnections } from "./offline-connections.ts";
import { createStorageConfigs, type StorageConfigs } from "./storage-configs.ts";

/** Cloud accounts, storage configurations and connections to offline stores. */
export interface Connections {
  readonly accounts: CloudAccounts;
  readonly storage: StorageConfigs;
  readonly offline: OfflineConnections;
  /** Seals what another key sealed with the key that seals now; returns how many were. */
  reseal(signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

/** Makes the capabilities. */
export function createConnections(parts: OfflineConnectionParts): Connections {
  const accounts = createCloudAccounts(parts, parts.sealer);
  const storage = createStorageConfigs(parts, accounts);
  const offline = createOfflineConnections(parts);
  return {
    accounts: {
      ...accounts,
      async delete(teamId, idOrName) {
        const { id, name } = await accounts.get(teamId, idOrName);
        const users = await storage.usersOf(teamId, id);
        if (users.length > 0)
          throw new Failure("failed_precondition", `The cloud account '${name}' is used by ${named("storage configuration", users)}.`, {
            hint: "Delete them first, `svc cloud storage configs delete`.",
          });
        return accounts.delete(teamId, id);
      },
    },
    storage,
    offline,
    reseal: async (signal) => (await accounts.reseal(signal)) + (await offline.reseal(signal)),
    async close() {
      await accounts.close();
      await storage.close();
      await offline.close();
    },
  };
}
