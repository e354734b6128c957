/** Who can approve changes of an environment. */

import { allows } from "../../domain/permissions.ts";
import { isOver } from "../access/clients.ts";
import { OWNER_NAME, OWNER_PERSON } from "../access/owner.ts";
import { personOf } from "../access/tokens.ts";
import type { ClientRecord, EnvironmentRecord, IdentityStore } from "../stores/metadata/identity.ts";

/** The clients that can decide what a person asked for. */
export interface Approvers {
  /** Names of those who can, by name, each once, at most ten. */
  names(environment: EnvironmentRecord, personId: string): Promise<readonly string[]>;
}

const MOST_NAMES = 10;

/**
 * Makes the look-up: clients of the environment's team with the permission `approve` that act for
 * another person, and the server's owner, who is in no store.
 */
export function createApprovers(metadata: Pick<IdentityStore, "clients">, now: () => number): Approvers {
  const can = (client: ClientRecord, { id }: EnvironmentRecord): boolean =>
    allows(client.permissions, "approve") && (client.environments?.includes(id) ?? true) && !isOver(client, now());
  return {
    async names(environment, personId) {
      const clients = (await metadata.clients(environment.teamId)).filter((client) => can(client, environment));
      const known = clients.map(({ id, name, personId: of }) => ({ name, person: personOf({ clientId: id, personId: of }) }));
      const others = [...known, { name: OWNER_NAME, person: OWNER_PERSON }].filter(({ person }) => person !== personId);
      return [...new Set(others.map(({ name }) => name))].sort().slice(0, MOST_NAMES);
    },
  };
}
