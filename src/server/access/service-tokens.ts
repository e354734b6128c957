/**
 * Service tokens: clients of programs. Whoever makes or changes one gives it no more than the own
 * credentials have: permissions, environments, and the time of credentials that were given for one.
 */

import type { Clock } from "../../context/clock.ts";
import { didYouMean } from "../../domain/closest.ts";
import { allowsAll, isPermission, isRole, isTeamWide, PERMISSION_NAMES, permissionsOfRole, ROLE_NAMES } from "../../domain/permissions.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { ClientChange, ClientRecord } from "../stores/metadata/identity.ts";
import type { Clients } from "./clients.ts";
import type { Environments } from "./environments.ts";
import { resolveNames } from "./scope.ts";
import { hashSecret, newSecret } from "./secrets.ts";
import { type Caller, personOf } from "./tokens.ts";

/** A client that is a service token. */
export type ServiceTokenRecord = ClientRecord & { readonly tokenId: string };

/** What is wanted of a service token. Absent = as before, or the default of a new one. */
export interface TokenWish {
  readonly name?: string | undefined;
  readonly permissions: readonly string[];
  /** Empty = none. */
  readonly role: string;
  /** Ids or names; empty = as before, or all. */
  readonly environments: readonly string[];
  /** Epoch milliseconds. */
  readonly expiresAt?: number | undefined;
  /** Limits to lift. */
  readonly lift?: { readonly environments: boolean; readonly expiry: boolean };
}

/** The service tokens of a server. Callers have the permission to write them. */
export interface ServiceTokens {
  /** Those of the caller's team, oldest first. */
  list(caller: Caller): Promise<ServiceTokenRecord[]>;
  /**
   * Makes one, and returns its secret this once. Rejects with Failure invalid_argument,
   * permission_denied, not_found (an environment) or resource_exhausted.
   */
  create(caller: Caller, wish: TokenWish): Promise<{ readonly token: ServiceTokenRecord; readonly secret: string }>;
  /** Changes one, by its id or its client's. Rejects as `create`, and with Failure not_found. */
  update(caller: Caller, id: string, wish: TokenWish): Promise<ServiceTokenRecord>;
  /** Deletes one. Rejects with Failure not_found or permission_denied. */
  delete(caller: Caller, id: string): Promise<ServiceTokenRecord>;
}

const MOST_TOKENS = 1_000;
const MOST_NAME_CHARACTERS = 200;

/** Makes the service tokens of a server. */
export function createServiceTokens({
  clients,
  environments,
  clock,
}: {
  readonly clients: Clients;
  readonly environments: Environments;
  readonly clock: Clock;
}): ServiceTokens {
  const list = async ({ teamId }: Caller): Promise<ServiceTokenRecord[]> => (await clients.list(teamId)).filter(isServiceToken);

  const find = async (caller: Caller, id: string): Promise<ServiceTokenRecord> => {
    const tokens = await list(caller);
    const found = tokens.find((token) => token.tokenId === id || token.id === id);
    if (found) return found;
    const ids = tokens.flatMap(({ tokenId, id: clientId }) => [tokenId, clientId]);
    throw new Failure("not_found", `There is no service token '${id}'.`, {
      hint: didYouMean(id, ids) || "`svc service-token list` shows all.",
    });
  };

  const environmentIds = (caller: Caller, names: readonly string[]): Promise<string[]> =>
    Promise.all(
      names.map(async (environment) => {
        if (environment === "") throw new Failure("invalid_argument", "An environment's name is empty.");
        const scope = await resolveNames(environments, caller, { environment, project: "", branch: "", deployment: "" });
        return scope.environment.id;
      }),
    );

  /** Refuses what a caller may not give: more than its own credentials have. */
  const requireOwn = (caller: Caller, { permissions, environments: limit, expiresAt }: ClientRecord, what: string): void => {
    const missing = permissions.filter((name) => !allowsAll(caller.permissions, [name]));
    if (missing.length > 0)
      throw new Failure("permission_denied", `${what} has permissions that these credentials lack: ${missing.join(", ")}.`, {
        hint: "Nobody can give more than they have.",
      });
    if (caller.environments && !limit?.every((id) => caller.environments?.includes(id)))
      throw new Failure("permission_denied", `${what} reaches environments that these credentials do not.`);
    if (caller.expiresAt !== undefined && !caller.endsWithLogin && (expiresAt === undefined || expiresAt > caller.expiresAt))
      throw new Failure(
        "permission_denied",
        `${what} lasts longer than these credentials, which end ${new Date(caller.expiresAt).toISOString()}.`,
        { hint: "Name an earlier end, or use credentials that do not end." },
      );
  };

  const changeOf = async (caller: Caller, wish: TokenWish): Promise<ClientChange> => {
    const { name, expiresAt, lift } = wish;
    if (name !== undefined) checkName(name);
    const limit = await environmentIds(caller, wish.environments);
    const permissions = permissionsOf(wish, limit.length > 0);
    if (expiresAt !== undefined && expiresAt <= clock.now())
      throw new Failure("invalid_argument", "The service token would have ended already.", { hint: "Name a time to come." });
    return {
      ...(name !== undefined && { name }),
      ...(permissions.length > 0 && { permissions }),
      ...(limit.length > 0 && { environments: [...new Set(limit)] }),
      ...(lift?.environments && { environments: undefined }),
      ...(expiresAt !== undefined && { expiresAt }),
      ...(lift?.expiry && { expiresAt: undefined }),
    };
  };

  return {
    list,
    async create(caller, wish) {
      checkName(wish.name ?? "");
      const change = await changeOf(caller, wish);
      if (!change.permissions)
        throw new Failure("invalid_argument", "A service token needs at least one permission, or a role.", {
          hint: "`svc permissions list` shows them.",
        });
      const now = clock.now();
      const secret = newSecret("svcs");
      const token = {
        id: newId("client", now),
        tokenId: newId("st", now),
        teamId: caller.teamId,
        name: "",
        secretHash: hashSecret(secret),
        createdAt: now,
        createdBy: caller.clientId,
        personId: personOf(caller),
        ...change,
        permissions: change.permissions,
      };
      requireEffective(token);
      requireOwn(caller, token, "The service token");
      if ((await list(caller)).length >= MOST_TOKENS)
        throw new Failure("resource_exhausted", `There are ${MOST_TOKENS} service tokens, which is the most.`, {
          hint: "Delete some that are not used: `svc service-token list` shows when each was used last.",
        });
      await clients.create(token);
      return { token, secret };
    },

    async update(caller, id, wish) {
      const before = await find(caller, id);
      requireOwn(caller, before, `The service token '${before.name}'`);
      const change = await changeOf(caller, wish);
      requireEffective({ ...before, ...change });
      requireOwn(caller, { ...before, ...change }, "The service token");
      const after = await clients.update(before.id, change);
      if (!after || !isServiceToken(after)) throw new Failure("not_found", `There is no service token '${id}' any more.`);
      return after;
    },

    async delete(caller, id) {
      const token = await find(caller, id);
      requireOwn(caller, { ...token, expiresAt: 0 }, `The service token '${token.name}'`);
      if ((await clients.delete(token.id)) === undefined) throw new Failure("not_found", `There is no service token '${id}' any more.`);
      return token;
    },
  };
}

function isServiceToken(client: ClientRecord): client is ServiceTokenRecord {
  return client.tokenId !== undefined;
}

function checkName(name: string): void {
  if (name.trim() === "") throw new Failure("invalid_argument", "A service token needs a name.");
  if (name.length > MOST_NAME_CHARACTERS || /[\p{Cc}\p{Cf}]/u.test(name))
    throw new Failure(
      "invalid_argument",
      `A service token's name has at most ${MOST_NAME_CHARACTERS} characters, none of them control characters.`,
    );
}

/** Refuses permissions that would never act, because the token is limited to environments. */
function requireEffective({ permissions, environments }: Pick<ClientRecord, "permissions" | "environments">): void {
  const idle = environments ? permissions.filter((name) => name !== "admin" && isTeamWide(name)) : [];
  if (idle.length === 0) return;
  throw new Failure("invalid_argument", `A service token that is limited to environments cannot use: ${idle.join(", ")}.`, {
    hint: "Leave them out, or do not limit the token.",
  });
}

/**
 * The permissions that a wish names, itself and by its role, sorted from the least. Those of a role
 * that a token limited to environments cannot use are left out.
 */
function permissionsOf({ permissions, role }: TokenWish, isLimited: boolean): string[] {
  const unknown = permissions.find((name) => !isPermission(name));
  if (unknown !== undefined)
    throw new Failure("invalid_argument", `There is no permission '${unknown.slice(0, 50)}'.`, {
      hint: didYouMean(unknown, PERMISSION_NAMES) || `There is: ${PERMISSION_NAMES.join(", ")}.`,
    });
  if (role !== "" && !isRole(role))
    throw new Failure("invalid_argument", `There is no role '${role.slice(0, 50)}'.`, {
      hint: didYouMean(role, ROLE_NAMES) || `There is: ${ROLE_NAMES.join(", ")}.`,
    });
  const ofRole = isRole(role) ? permissionsOfRole(role, isLimited) : [];
  const wanted = new Set<string>([...permissions, ...ofRole]);
  return PERMISSION_NAMES.filter((name) => wanted.has(name));
}
