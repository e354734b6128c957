/** AuthService: login sessions, browser sessions, clients, and who am I. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  ApiClientSchema,
  AuthService,
  BrowserSessionSchema,
  CreateEntryResponseSchema,
  CreateLoginSessionResponseSchema,
  DeleteClientResponseSchema,
  EndSessionResponseSchema,
  EndSessionsResponseSchema,
  GetLoginSessionResponseSchema,
  ListClientsResponseSchema,
  ListSessionsResponseSchema,
  LoginSessionStatus,
  RedeemEntryResponseSchema,
  WhoAmIResponseSchema,
} from "../../../../gen/svc/v1/auth_pb.ts";
import { addressOf, entryAddress } from "../../../domain/addresses.ts";
import { mayOnlyRead } from "../../../domain/permissions.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import type { Clients } from "../../access/clients.ts";
import type { Environments } from "../../access/environments.ts";
import type { LoginOutcome } from "../../access/login-sessions.ts";
import { resolveScope, scopeNames } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { Failure } from "../../failure.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { isEncrypted } from "../http/forwarded.ts";
import { addressKey, callerOf, noteOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

const STATUS: Readonly<Record<LoginOutcome["state"], LoginSessionStatus>> = {
  pending: LoginSessionStatus.PENDING,
  confirmed: LoginSessionStatus.CONFIRMED,
  denied: LoginSessionStatus.DENIED,
  expired: LoginSessionStatus.EXPIRED,
};

/** Adds the service to a router. */
export function register(
  router: ConnectRouter,
  { addressFor, browserSessions, clients, environments, gatewayAddressFor, grpcAddressFor, log, loginSessions }: Platform,
): void {
  /**
   * The browser sessions that a caller may end: all of the team as an administrator, itself as a
   * session, its own as a client.
   */
  const endable = async (caller: Caller) => {
    if (isAdmin(caller)) return browserSessions.list(caller.teamId, undefined);
    const own = await browserSessions.list(caller.teamId, caller.clientId);
    return caller.sessionId === undefined ? own : own.filter(({ id }) => id === caller.sessionId);
  };

  router.service(AuthService, {
    async createLoginSession({ deviceName }, context) {
      const { id, secret, userCode, expiresAt } = await loginSessions.open(deviceName, context.values.get(addressKey));
      return create(CreateLoginSessionResponseSchema, {
        loginSessionId: id,
        url: `${addressFor(context.requestHeader)}${addressOf("login", { id })}`,
        sessionSecret: secret,
        userCode,
        expiresAt: msToTimestamp(expiresAt),
      });
    },

    async getLoginSession({ loginSessionId, sessionSecret }, context) {
      const outcome = await loginSessions.poll(loginSessionId, sessionSecret);
      const note = noteOf(context);
      if (outcome?.state === "confirmed") note.by = { clientId: outcome.clientId };
      else note.isUnchanged = outcome !== undefined;
      if (!outcome) throw new Failure("not_found", "There is no such login session.", { hint: "Start again with `svc login`." });
      const credentials =
        outcome.state === "confirmed"
          ? { clientId: outcome.clientId, clientSecret: outcome.clientSecret, environmentId: outcome.environmentId }
          : {};
      return create(GetLoginSessionResponseSchema, { status: STATUS[outcome.state], ...credentials });
    },

    async whoAmI(_request, context) {
      const caller = callerOf(context);
      const environment = await environmentOfCall(environments, caller, context.requestHeader);
      return create(WhoAmIResponseSchema, {
        userId: caller.clientId,
        environmentId: environment?.id ?? "",
        environmentName: environment?.name ?? "",
        teamId: caller.teamId,
        projectId: environment?.projectId ?? "",
        dashboardUrl: addressFor(context.requestHeader),
        grpcServer: grpcAddressFor(context.requestHeader),
        gateway: gatewayAddressFor(context.requestHeader),
        name: await nameOf(clients, caller),
        permissions: [...caller.permissions],
        ...(caller.expiresAt !== undefined && { expiresAt: msToTimestamp(caller.expiresAt) }),
      });
    },

    async createEntry({ path, readOnly }, context) {
      const entry = await browserSessions.enter(callerOf(context), path, readOnly);
      return create(CreateEntryResponseSchema, {
        code: entry.code,
        url: `${addressFor(context.requestHeader)}${entryAddress(entry.code, entry.path)}`,
        expiresAt: msToTimestamp(entry.expiresAt),
      });
    },

    async redeemEntry({ code }, context) {
      const { requestHeader, responseHeader } = context;
      const session = await browserSessions.redeem(code, requestHeader);
      if (!session)
        throw new Failure("not_found", "The link was used already, or is too old.", {
          hint: "Make another one with `svc dashboard`.",
        });
      noteOf(context).by = { clientId: session.clientId, sessionId: session.id };
      responseHeader.set("set-cookie", browserSessions.setCookie(session.cookie, isEncrypted(requestHeader)));
      responseHeader.set("cache-control", "no-store");
      return create(RedeemEntryResponseSchema, {
        pageKey: session.pageKey,
        path: session.path,
        expiresAt: msToTimestamp(session.expiresAt),
      });
    },

    async listSessions(_request, context) {
      const caller = callerOf(context);
      const sessions = await browserSessions.list(caller.teamId, isAdmin(caller) ? undefined : caller.clientId);
      return create(ListSessionsResponseSchema, {
        sessions: sessions.map(({ id, clientId, clientName, createdAt, lastUsedAt, expiresAt, permissions, userAgent }) =>
          create(BrowserSessionSchema, {
            id,
            clientId,
            clientName,
            createdAt: msToTimestamp(createdAt),
            lastUsedAt: msToTimestamp(lastUsedAt),
            expiresAt: msToTimestamp(expiresAt),
            readOnly: mayOnlyRead(permissions),
            userAgent,
            current: id === caller.sessionId,
          }),
        ),
      });
    },

    async endSession(request, context) {
      const caller = callerOf(context);
      const id = request.id || caller.sessionId;
      if (id === undefined) throw new Failure("invalid_argument", "Name the browser session to end.");
      const own = id === caller.sessionId;
      if (!own && !(await endable(caller)).some((session) => session.id === id))
        throw new Failure("not_found", "There is no such browser session.");
      await browserSessions.end([id]);
      if (own) context.responseHeader.set("set-cookie", browserSessions.setCookie(undefined, isEncrypted(context.requestHeader)));
      log.info("browser session ended", { session: id, by: caller.clientId });
      return create(EndSessionResponseSchema);
    },

    async endSessions(_request, context) {
      const caller = callerOf(context);
      const own = (await endable(caller)).filter(({ clientId }) => clientId === caller.clientId);
      await browserSessions.end(own.map(({ id }) => id));
      log.info("browser sessions ended", { sessions: own.length, by: caller.clientId });
      return create(EndSessionsResponseSchema, { ended: own.length });
    },

    async listClients(_request, context) {
      const caller = callerOf(context);
      const seen = (await clients.list(caller.teamId)).filter(({ id }) => isAdmin(caller) || id === caller.clientId);
      return create(ListClientsResponseSchema, {
        clients: seen.map(({ id, name, createdAt, lastUsedAt, permissions, parentId, subject, expiresAt }) =>
          create(ApiClientSchema, {
            id,
            name,
            createdAt: msToTimestamp(createdAt),
            ...(lastUsedAt === undefined ? {} : { lastUsedAt: msToTimestamp(lastUsedAt) }),
            permissions: [...permissions],
            current: id === caller.clientId,
            parentId: parentId ?? "",
            isPerson: subject !== undefined,
            ...(expiresAt !== undefined && { expiresAt: msToTimestamp(expiresAt) }),
          }),
        ),
      });
    },

    async deleteClient({ id }, context) {
      const caller = callerOf(context);
      if (id === "") throw new Failure("invalid_argument", "Name the client to delete.");
      const isItself = id === caller.clientId && caller.sessionId === undefined;
      const allowed = isItself || (isAdmin(caller) && (await clients.find(id))?.teamId === caller.teamId);
      const endedSessions = allowed ? await clients.delete(id) : undefined;
      if (endedSessions === undefined)
        throw new Failure("not_found", `There is no client '${id}' that these credentials may delete.`, {
          hint: "`svc logout --list` shows those that they may.",
        });
      log.info("client deleted", { client: id, by: caller.clientId });
      return create(DeleteClientResponseSchema, { endedSessions });
    },
  });
}

/** Name of the person for whom a caller acts, or of its own client. */
async function nameOf(clients: Clients, { clientId }: Caller): Promise<string> {
  const client = await clients.find(clientId);
  const person = client?.parentId === undefined ? undefined : await clients.find(client.parentId);
  return (person ?? client)?.name ?? "";
}

/** The environment of a call; undefined when it is for a project that does not exist yet. */
async function environmentOfCall(environments: Environments, caller: Caller, headers: Headers): Promise<EnvironmentRecord | undefined> {
  const { environment, project } = scopeNames(headers);
  const found = await environments.find({ teamId: caller.teamId, project, environment });
  const isNew = !found && project !== "" && (await environments.list(caller.teamId, project)).length === 0;
  if (caller.environments === undefined && (found || isNew)) return found;
  return (await resolveScope(environments, caller, headers)).environment;
}

/** Whether a caller administers the team: not one that is limited to some environments. */
function isAdmin({ environments, permissions }: Caller): boolean {
  return permissions.includes("admin") && environments === undefined;
}
