import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { bytes, integer, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import { type AuditChain, type AuditRecord, type AuditStore, type ChainPoint, chained } from "./audit.ts";

interface ChainRow {
  readonly anchorSeq: number;
  readonly anchorHash: Uint8Array;
  readonly headSeq: number;
  readonly headHash: Uint8Array;
}

/** The audit log of the SQLite driver. The table `audit_chain` has one row, made with it. */
export function sqliteAudit(db: Database, writer: Writer): AuditStore {
  const rows = createTable<AuditRecord>(db, "audit", {
    seq: integer,
    at: integer,
    teamId: text,
    clientId: text,
    clientName: text,
    sessionId: text,
    endpoint: text,
    about: text,
    address: text,
    environmentId: text,
    code: text,
    count: integer,
    traceId: text,
    hash: bytes,
  });
  const chains = createTable<ChainRow>(db, "audit_chain", { anchorSeq: integer, anchorHash: bytes, headSeq: integer, headHash: bytes });
  const chain = (): AuditChain => {
    const { anchorSeq, anchorHash, headSeq, headHash } = chains.one("") ?? NO_CHAIN;
    return { anchor: { seq: anchorSeq, hash: anchorHash }, head: { seq: headSeq, hash: headHash } };
  };

  return {
    append: (entries) =>
      writer.write(() => {
        let head: ChainPoint = chain().head;
        for (const entry of entries) {
          const row = chained(entry, head);
          rows.insert(row);
          head = row;
        }
        chains.update({ headSeq: head.seq, headHash: head.hash }, "", {});
      }),

    async list({ teamId, client, endpoint, code, environmentId, address, since, until, before, limit }) {
      const conditions: [sql: string, value: string | number | undefined][] = [
        ["(team_id = ? or team_id = '')", teamId],
        ["(client_id = ? or client_name = ?)", client],
        ["instr(lower(endpoint), lower(?)) > 0", endpoint],
        ["code = ?", code],
        ["environment_id = ?", environmentId],
        ["address = ?", address],
        ["at >= ?", since],
        ["at < ?", until],
        ["seq < ?", before],
      ];
      const given = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]));
      const where = given.map(({ sql }, i) => sql.replaceAll("?", `?${i + 1}`)).join(" and ");
      return rows.all(`where ${where} order by seq desc limit ?${given.length + 1}`, ...given.map(({ value }) => value), limit);
    },

    chain: async () => chain(),

    async rows(after, limit) {
      return rows.all("where ?1 is null or seq > ?1 order by seq limit ?2", after ?? null, limit);
    },

    prune: ({ before, most, limit }) =>
      writer.write(() => {
        const { anchor, head } = chain();
        const old = db.query<{ seq: number }, [number]>("select seq from audit where at >= ? order by seq limit 1").get(before);
        const firstKept = Math.max(old?.seq ?? head.seq + 1, head.seq - most + 1);
        const last = rows.one("where seq < ? and seq <= ? order by seq desc limit 1", firstKept, anchor.seq + limit);
        if (!last) return 0;
        chains.update({ anchorSeq: last.seq, anchorHash: last.hash }, "", {});
        return db.query("delete from audit where seq <= ?").run(last.seq).changes;
      }),
  };
}

/** The chain of a file whose row was removed: nothing verifies against it. */
const NO_CHAIN: ChainRow = { anchorSeq: 0, anchorHash: new Uint8Array(0), headSeq: 0, headHash: new Uint8Array(0) };
