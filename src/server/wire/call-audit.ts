/**
 * Rows of the audit log about calls: who called, from where and in which environment, by the
 * request's headers; what it was about and how it ended, by what the call notes.
 */

import { parseTraceparent } from "../../domain/traceparent.ts";
import { authenticate, hasCredentials } from "../access/authorize.ts";
import { type DeploymentTarget, resolveScope } from "../access/scope.ts";
import type { Caller } from "../access/tokens.ts";
import { Failure, outOfSpace } from "../failure.ts";
import type { AuditEntry } from "../stores/metadata/audit.ts";
import type { Platform } from "./platform.ts";

/** What a call notes about itself while it runs. */
export interface CallNote {
  /** Connect's name of its error, or `ok`. */
  code?: string;
  /** Names and ids that it is about. */
  about?: Readonly<Record<string, unknown>>;
  /**
   * The client that it turned out to come from, when it needed no credentials; with its name when
   * there is no such client, as for a person who has no role.
   */
  by?: { readonly clientId: string; readonly sessionId?: string; readonly clientName?: string };
  /**
   * Whether it came by a signed address, which only known callers are given.
   */
  isVouched?: boolean;
  /** Whether it changed nothing after all, as asking for the state of a login does. */
  isUnchanged?: boolean;
}

/** A call before it is run. */
export interface IncomingCall {
  /** Name of the endpoint in rows. */
  readonly endpoint: string;
  readonly headers: Headers;
  /** Undefined when the call needs no credentials, or they are not known yet. */
  readonly caller: Caller | undefined;
  /** Address of the client; empty when unknown. */
  readonly address: string;
  /** Environment that it is about; default: the one that the headers select. */
  readonly environmentId?: string;
}

/** The parts of the platform that rows come of. */
export type AuditParts = Pick<Platform, "audit" | "callers" | "clients" | "clock" | "dataDir" | "environments" | "log">;

/** Whether a code says that the caller was refused. */
export function isRefusal(code: string | undefined): boolean {
  return code === "unauthenticated" || code === "permission_denied";
}

/**
 * The row of a call that is about to run: who calls, as long as the call has not deleted the
 * client.
 */
export async function rowOf(
  platform: AuditParts,
  { endpoint, headers, caller, address, environmentId }: IncomingCall,
): Promise<AuditEntry> {
  const client = caller && (await platform.clients.find(caller.clientId));
  const scoped = async (one: Caller): Promise<string | undefined> => {
    if (environmentId === undefined) return (await scopeOf(platform, one, headers))?.environment.id;
    // One of another team is nothing that the caller's team is told of.
    return (await platform.environments.list(one.teamId, "")).find(({ id }) => id === environmentId)?.id;
  };
  return {
    at: 0,
    teamId: caller?.teamId ?? "",
    clientId: caller?.clientId ?? "",
    clientName: client?.name ?? "",
    sessionId: caller?.sessionId ?? "",
    endpoint,
    about: "{}",
    address,
    environmentId: (caller && (await scoped(caller))) ?? "",
    code: "ok",
    count: 1,
    traceId: parseTraceparent(headers.get("traceparent"))?.traceId ?? "",
  };
}

/** The scope that a call's headers select; undefined when there is none. */
async function scopeOf({ environments }: AuditParts, caller: Caller, headers: Headers): Promise<DeploymentTarget | undefined> {
  try {
    return await resolveScope(environments, caller, headers);
  } catch {
    return undefined;
  }
}

/**
 * Keeps the row of a call that ended, as it noted. Throws Failure when that fails: the call may
 * have taken effect, and nobody will find it in the log.
 */
export async function keepRow(platform: AuditParts, before: AuditEntry, note: CallNote): Promise<void> {
  if (note.isUnchanged) return;
  const who = note.by && (await whoIs(platform, note.by));
  const code = note.code ?? "ok";
  const row = { ...before, ...who, at: platform.clock.now(), code, about: JSON.stringify(note.about ?? {}) };
  if (isRefusal(code) || (row.clientId === "" && !note.isVouched)) return platform.audit.tally(row);
  try {
    await platform.audit.keep(row);
  } catch (error) {
    platform.log.error("a row is missing in the audit log", { endpoint: row.endpoint, client: row.clientId, error: String(error) });
    const full = outOfSpace(error, platform.dataDir);
    if (full && code !== "ok") throw full;
    const reason = full?.message ?? "The metadata store did not take it.";
    throw new Failure("unavailable", `The call ended with '${code}', but the audit log could not keep a row of it. ${reason}`, {
      hint: "See what it changed before you call again.",
    });
  }
}

/** The parts of a row that tell of the client that a call noted. */
async function whoIs({ clients }: AuditParts, by: NonNullable<CallNote["by"]>): Promise<Partial<AuditEntry>> {
  const { clientId, clientName, sessionId = "" } = by;
  const client = await clients.find(clientId);
  if (client) return { teamId: client.teamId, clientId, clientName: client.name, sessionId };
  return clientName === undefined ? {} : { clientId, clientName };
}

/** The caller that a request's credentials name; undefined when it has none that are valid. */
export function callerIn({ callers }: AuditParts, headers: Headers): Promise<Caller | undefined> {
  return hasCredentials(headers) ? authenticate(callers, headers).catch(() => undefined) : Promise.resolve(undefined);
}

/** Tallies a refusal. Never rejects. */
export async function tallyRefusal(platform: AuditParts, call: Omit<IncomingCall, "caller">, code: string): Promise<void> {
  try {
    const row = await rowOf(platform, { ...call, caller: await callerIn(platform, call.headers) });
    await platform.audit.tally({ ...row, at: platform.clock.now(), code });
  } catch (error) {
    platform.log.error("a refusal is missing in the audit log", { endpoint: call.endpoint, error: String(error) });
  }
}
