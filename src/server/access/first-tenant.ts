/**
 * The first tenant, which the first start creates: a team, a project, an environment, and
 * credentials for the person who started the server.
 */

import { FULL_ACCESS } from "../../domain/permissions.ts";
import { newId } from "../identifier.ts";
import type { IdentityStore } from "../stores/metadata/identity.ts";
import { DEFAULT_ENVIRONMENT } from "./environments.ts";
import { OWNER_PERSON } from "./owner.ts";
import { hashSecret, newSecret } from "./secrets.ts";

/** Credentials that a first start created; the secret exists in no other place. */
export interface InitialCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly environmentId: string;
}

/**
 * Creates the tenant in an empty store and returns its credentials; undefined when the store is not
 * empty.
 */
export async function createFirstTenant(metadata: IdentityStore, now: number): Promise<InitialCredentials | undefined> {
  if ((await metadata.environments()).length > 0) return undefined;
  const environment = { id: newId("env", now), name: DEFAULT_ENVIRONMENT };
  const clientId = newId("client", now);
  const clientSecret = newSecret("svcs");
  const created = await metadata.bootstrap({
    team: { id: newId("team", now), name: "default" },
    project: { id: newId("prj", now), name: "default" },
    environment,
    client: { id: clientId, name: "first start", secretHash: hashSecret(clientSecret), permissions: FULL_ACCESS, personId: OWNER_PERSON },
    now,
  });
  return created ? { clientId, clientSecret, environmentId: environment.id } : undefined;
}
