/**
 * The audit log: who called what, from where, and how it ended. Calls that change something have a
 * row each, and are answered when it is kept. Refusals, and calls of callers who are not known, are
 * tallied: the first of a kind in a minute has a row at once, and those after it share one at the
 * minute's end, so that nobody fills the disk or pushes older rows out.
 */

import type { Clock } from "../../context/clock.ts";
import type { Log } from "../log.ts";
import { type AuditEntry, type AuditRecord, type AuditStore, auditHash, type ChainPoint } from "../stores/metadata/audit.ts";

/** The audit log of a node. */
export interface AuditLog {
  /** Keeps a row; rejects when it could not be kept. */
  keep(entry: AuditEntry): Promise<void>;
  /** Counts a call. Never rejects: the server's log says when a row could not be kept. */
  tally(entry: AuditEntry): Promise<void>;
  /** Walks the whole chain. `noted` is a hash that the chain had earlier, in hex. */
  verify(noted?: string): Promise<ChainReport>;
  /** Keeps what was counted. */
  close(): Promise<void>;
}

/** What a walk of the chain found. */
export interface ChainReport {
  /** Rows that were read and are in order. */
  readonly rows: number;
  /** The last row in order. */
  readonly head: ChainPoint;
  /** The place that the first row follows: rows up to it were pruned. */
  readonly anchor: ChainPoint;
  /** The first row that is not as it was written. */
  readonly broken?: { readonly seq: number; readonly reason: string } | undefined;
  /** Whether the noted hash is one of the chain's. */
  readonly hasNoted: boolean;
}

/** Milliseconds for which calls of one kind are counted together. */
const TALLY_MS = 60_000;
/** Most kinds that are told apart at a time; others are counted by endpoint and code alone. */
const MOST_KINDS = 30;
const PAGE = 500;

/** Makes the audit log. */
export function createAuditLog({ store, clock, log }: { readonly store: AuditStore; readonly clock: Clock; readonly log: Log }): AuditLog {
  let tallies = new Map<string, { readonly entry: AuditEntry; more: number }>();
  const closing = new AbortController();
  let flushing: Promise<void> | undefined;

  const append = async (entries: readonly AuditEntry[]): Promise<void> => {
    if (entries.length === 0) return;
    await store
      .append(entries)
      .catch((error: unknown) => log.error("refusals are missing in the audit log", { rows: entries.length, error: String(error) }));
  };
  const flush = (): Promise<void> => {
    const counted = [...tallies.values()];
    tallies = new Map();
    return append(counted.filter(({ more }) => more > 0).map(({ entry, more }) => ({ ...entry, at: clock.now(), count: more })));
  };
  const flushLater = async (): Promise<void> => {
    await clock.sleep(TALLY_MS, closing.signal).catch(() => undefined);
    flushing = undefined;
    await flush();
  };

  return {
    keep: (entry) => store.append([entry]),

    async tally(entry) {
      const { endpoint, code, clientId, sessionId, address } = entry;
      const own = [endpoint, code, clientId, sessionId, address].join("\n");
      const isToldApart = tallies.has(own) || tallies.size < MOST_KINDS;
      const key = isToldApart ? own : [endpoint, code].join("\n");
      const known = tallies.get(key);
      if (known) {
        known.more++;
        return;
      }
      const kept = isToldApart ? entry : { ...entry, ...NOBODY };
      tallies.set(key, { entry: kept, more: 0 });
      flushing ??= flushLater();
      await append([kept]);
    },

    async verify(noted) {
      for (;;) {
        const report = await walk(store, clock, noted);
        if (!report.broken) return report;
        const { anchor } = await store.chain();
        if (anchor.seq === report.anchor.seq) return report;
      }
    },

    async close() {
      closing.abort();
      await flushing;
      await flush();
    },
  };
}

/** What is left out of a row that stands for several callers. */
const NOBODY = { clientId: "", clientName: "", sessionId: "", address: "", about: "{}", environmentId: "", traceId: "" };

/** One walk of the chain; rows that are pruned meanwhile make it look broken. */
async function walk(store: AuditStore, clock: Clock, noted = ""): Promise<ChainReport> {
  const { anchor } = await store.chain();
  let head = anchor;
  let rows = 0;
  let hasNoted = noted !== "" && noted === hex(anchor.hash);
  const report = (broken?: ChainReport["broken"]): ChainReport => ({ rows, head, anchor, broken, hasNoted });
  for (let after: number | undefined; ; after = head.seq) {
    const end = (await store.chain()).head;
    const page = await store.rows(after, PAGE);
    for (const row of page) {
      const reason = faultOf(row, head);
      if (reason !== undefined) return report({ seq: row.seq, reason });
      head = row;
      rows++;
      hasNoted ||= noted === hex(row.hash);
    }
    if (page.length > 0) {
      await clock.sleep(0);
      continue;
    }
    if (end.seq > head.seq) return report({ seq: head.seq + 1, reason: `the rows from here to row ${end.seq} are missing` });
    if (end.seq < head.seq) return report({ seq: end.seq + 1, reason: `the chain ends before it, with row ${end.seq}` });
    return report(
      hex(end.hash) === hex(head.hash) ? undefined : { seq: head.seq, reason: "its hash is not the one that the chain ends with" },
    );
  }
}

/** Why a row cannot follow a place in the chain; undefined when it can. */
function faultOf(row: AuditRecord, before: ChainPoint): string | undefined {
  if (row.seq !== before.seq + 1) return row.seq <= before.seq ? "it stands before the chain" : `rows are missing after row ${before.seq}`;
  return hex(auditHash(before.hash, row)) === hex(row.hash) ? undefined : "it is not what was written";
}

/** A hash as hex digits. */
export function hex(hash: Uint8Array): string {
  return Buffer.from(hash).toString("hex");
}
