/** Teams, projects, environments, and the clients that call. */

/** An environment with the names around it. */
export interface EnvironmentRecord {
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly teamId: string;
  readonly createdAt: number;
  /** Since when it is suspended; undefined while it is active. */
  readonly suspendedAt?: number | undefined;
}

/** Client credentials. The secret itself is not stored. */
export interface ClientRecord {
  readonly id: string;
  readonly teamId: string;
  /** Display name, for example the host that logged in. */
  readonly name: string;
  /** SHA-256 of the secret. */
  readonly secretHash: Uint8Array;
  /** Names of permissions, see `domain/permissions.ts`. */
  readonly permissions: readonly string[];
  readonly createdAt: number;
  /** Undefined when it was never used. */
  readonly lastUsedAt?: number | undefined;
  /** Id of the service token whose client it is; undefined for one that logged in. */
  readonly tokenId?: string | undefined;
  /** Ids of the environments that it is limited to; undefined = all of the team's. */
  readonly environments?: readonly string[] | undefined;
  /** When its credentials end; undefined = they do not. */
  readonly expiresAt?: number | undefined;
  /** Id of the client that made it; undefined when a login did. */
  readonly createdBy?: string | undefined;
  /**
   * Whom it acts for, when that is somebody else than itself: a service token acts for the person
   * of the client that made it.
   */
  readonly personId?: string | undefined;
  /**
   * The person's name at the identity provider, which stays when mail address and groups change;
   * undefined for clients that are no person. A person's client has no secret.
   */
  readonly subject?: string | undefined;
  /**
   * Id of the client that it is limited by: a command line that a person logged in may do no more
   * than the person, and is deleted with the person's client.
   */
  readonly parentId?: string | undefined;
}

/** What can change of a client. */
export type ClientChange = Partial<Pick<ClientRecord, "name" | "permissions" | "environments" | "expiresAt">>;

/** The records that a server creates at its first start. */
export interface Bootstrap {
  readonly team: { readonly id: string; readonly name: string };
  readonly project: { readonly id: string; readonly name: string };
  readonly environment: { readonly id: string; readonly name: string };
  readonly client: Omit<ClientRecord, "teamId" | "createdAt">;
  readonly now: number;
}

/** A name to look an environment up by. */
export interface EnvironmentName {
  readonly teamId: string;
  /** Id or name of its project; empty = any of the team's. */
  readonly project: string;
  /** Id or name of the environment. */
  readonly environment: string;
}

/** Tenants, environments and clients. */
export interface IdentityStore {
  /** Creates all records when the store is empty; returns false, and changes nothing, otherwise. */
  bootstrap(first: Bootstrap): Promise<boolean>;
  /** Environments of a team, or of all teams; by name. */
  environments(teamId?: string): Promise<EnvironmentRecord[]>;
  /** The environment of an id. */
  environment(id: string): Promise<EnvironmentRecord | undefined>;
  /**
   * The environment with an id or name: an id takes precedence over a name; among several with the
   * name, that of the oldest project is returned.
   */
  findEnvironment(wanted: EnvironmentName): Promise<EnvironmentRecord | undefined>;

  createClient(client: ClientRecord): Promise<void>;
  /**
   * Creates a client, or changes name, permissions and environments of the one that has its id.
   */
  putClient(client: ClientRecord): Promise<void>;
  client(id: string): Promise<ClientRecord | undefined>;
  /** All clients of a team, oldest first. */
  clients(teamId: string): Promise<ClientRecord[]>;
  /**
   * Changes a client by what `change` has, of which undefined removes a limit. Returns the client
   * as it is then; undefined when there is none.
   */
  updateClient(id: string, change: ClientChange): Promise<ClientRecord | undefined>;
  /** Records when a client was last used. */
  touchClient(id: string, lastUsedAt: number): Promise<void>;
  /**
   * Deletes a client and those that it is the parent of, with their entries and browser sessions,
   * and denies login sessions that they confirmed and that are not taken yet. Returns the number of
   * browser sessions that ended, undefined when there is no such client.
   */
  deleteClient(id: string): Promise<number | undefined>;
}
