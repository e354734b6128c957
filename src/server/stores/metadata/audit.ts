/**
 * The audit log: rows in one chain for the whole store. A row's hash covers the row and the hash of
 * the row before it, so that a row that is changed, removed, added or moved breaks the chain. The
 * chain has an anchor, which is the place and hash before its first kept row, and a head, which is
 * the place and hash of its last row; both are stored beside the rows.
 */

/** What is appended: who called what, from where, and how it ended. Absent texts are empty. */
export interface AuditEntry {
  readonly at: number;
  readonly teamId: string;
  readonly clientId: string;
  /** The client's name when it called. */
  readonly clientName: string;
  /** Id of the browser session that called for the client. */
  readonly sessionId: string;
  /** For example `svc.v1.AuthService/DeleteClient`, or `POST /v1/oauth/token`. */
  readonly endpoint: string;
  /** What the call was about: a JSON object of names and ids by field. */
  readonly about: string;
  /** Address of the client. */
  readonly address: string;
  readonly environmentId: string;
  /** `ok`, or Connect's name of the error. */
  readonly code: string;
  /** Number of calls that the row stands for. */
  readonly count: number;
  /** Trace id of the caller, 32 hex digits. */
  readonly traceId: string;
}

/** A row of the chain. */
export interface AuditRecord extends AuditEntry {
  /** Place in the chain: 1 for the first row ever, and one more with each row. */
  readonly seq: number;
  /** SHA-256, see `auditHash`. */
  readonly hash: Uint8Array;
}

/** A place in the chain and the hash there. Place 0 has the hash of 32 zero bytes. */
export interface ChainPoint {
  readonly seq: number;
  readonly hash: Uint8Array;
}

/** The ends of the chain. They are equal when no row is kept. */
export interface AuditChain {
  readonly anchor: ChainPoint;
  readonly head: ChainPoint;
}

/** Rows to list, newest first. What is absent limits nothing. */
export interface AuditFilter {
  /** Rows of this team, and of callers that belong to none. */
  readonly teamId: string;
  /** Id or name of the client. */
  readonly client?: string | undefined;
  /** Part of the endpoint, in any case. */
  readonly endpoint?: string | undefined;
  readonly code?: string | undefined;
  readonly environmentId?: string | undefined;
  readonly address?: string | undefined;
  /** Earliest time, inclusive. */
  readonly since?: number | undefined;
  /** Latest time, exclusive. */
  readonly until?: number | undefined;
  /** Only rows before this place. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** The rows of the audit log. */
export interface AuditStore {
  /** Appends rows to the chain, all or none; several nodes may append at once. */
  append(entries: readonly AuditEntry[]): Promise<void>;
  list(filter: AuditFilter): Promise<AuditRecord[]>;
  chain(): Promise<AuditChain>;
  /** Rows after a place in the chain, in its order; undefined = from the first row there is. */
  rows(after: number | undefined, limit: number): Promise<AuditRecord[]>;
  /**
   * Removes rows from the beginning of the chain, at most `limit`: those older than `before`, and
   * those beyond the newest `most`. The anchor moves to the last removed row. Returns their number.
   */
  prune(options: { readonly before: number; readonly most: number; readonly limit: number }): Promise<number>;
}

/** The hash of a row that follows `before`: SHA-256 of the hash before and the row's content. */
export function auditHash(before: Uint8Array, row: Omit<AuditRecord, "hash">): Uint8Array {
  const { seq, at, teamId, clientId, clientName, sessionId, endpoint, about, address, environmentId, code, count, traceId } = row;
  const content = [seq, at, teamId, clientId, clientName, sessionId, endpoint, about, address, environmentId, code, count, traceId];
  return new Uint8Array(new Bun.CryptoHasher("sha256").update(before).update(JSON.stringify(content)).digest().buffer);
}

/** The row of an entry that follows a place in the chain. */
export function chained(entry: AuditEntry, after: ChainPoint): AuditRecord {
  const texts = Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [name, typeof value === "string" ? storable(value) : value]),
  );
  const row = { ...(texts as unknown as AuditEntry), seq: after.seq + 1 };
  return { ...row, hash: auditHash(after.hash, row) };
}

/** A text that every database returns as it was stored. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}
