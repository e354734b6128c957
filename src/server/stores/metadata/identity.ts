/** Who and where: teams, projects, environments, and the clients that call. */

/** An environment with the names around it. */
export interface EnvironmentRecord {
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly teamId: string;
  readonly createdAt: number;
}

/** Client credentials. The secret itself is nowhere. */
export interface ClientRecord {
  readonly id: string;
  readonly teamId: string;
  /** For people, for example the host that logged in. */
  readonly name: string;
  /** SHA-256 of the secret. */
  readonly secretHash: Uint8Array;
  /** Names of permissions, see `server/access/permissions.ts`. */
  readonly permissions: readonly string[];
  readonly createdAt: number;
  /** Undefined when it was never used. */
  readonly lastUsedAt?: number | undefined;
}

/** What a first start creates. */
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
  /** Creates all of it when the store is empty; false when it is not. */
  bootstrap(first: Bootstrap): Promise<boolean>;
  /** Environments of a team, or of all teams; by name. */
  environments(teamId?: string): Promise<EnvironmentRecord[]>;
  /** The environment of an id. */
  environment(id: string): Promise<EnvironmentRecord | undefined>;
  /**
   * The environment of an id or name; one with that id goes before those with that name, and of
   * these the first by its project's name is meant.
   */
  findEnvironment(wanted: EnvironmentName): Promise<EnvironmentRecord | undefined>;
  /** Adds an environment to a project. Rejects when the name is taken there. */
  createEnvironment(environment: Pick<EnvironmentRecord, "id" | "name" | "projectId" | "createdAt">): Promise<void>;

  createClient(client: ClientRecord): Promise<void>;
  client(id: string): Promise<ClientRecord | undefined>;
  /** All clients of a team, oldest first. */
  clients(teamId: string): Promise<ClientRecord[]>;
  /** Notes that a client was used. */
  touchClient(id: string, lastUsedAt: number): Promise<void>;
  /**
   * Deletes a client with its entries and browser sessions, and denies login sessions that it
   * confirmed and nobody took; gives the number of browser sessions that ended. Undefined when
   * there is no such client.
   */
  deleteClient(id: string): Promise<number | undefined>;
}
