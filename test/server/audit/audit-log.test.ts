import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type AuditLog, createAuditLog, hex } from "../../../src/server/audit/audit-log.ts";
import { auditRetention, MOST_AUDIT_ROWS } from "../../../src/server/audit/retention.ts";
import { createLog } from "../../../src/server/log.ts";
import type { AuditEntry } from "../../../src/server/stores/metadata/audit.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";
import { auditEntry, NOW } from "../stores/metadata/records.ts";

/** A clock whose sleeps longer than a second end when the test says so. */
class HeldClock extends TestClock {
  readonly held: (() => void)[] = [];
  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms < 1_000) return super.sleep(ms, signal);
    return new Promise((resolve, reject) => {
      this.held.push(resolve);
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  }
}

let folder: TempFolder;
let store: MetadataStore;
let clock: HeldClock;
let audit: AuditLog;
const lines: string[] = [];
const pathOf = () => join(folder.path, "meta.db");
const open = () => createSqliteMetadataStore({ path: pathOf(), programVersion: "1.0.0" });

beforeEach(() => {
  folder = new TempFolder();
  store = open();
  clock = new HeldClock();
  audit = createAuditLog({ store: store.audit, clock, log: createLog({ write: (line) => lines.push(line), clock }) });
});
afterEach(async () => {
  await audit.close();
  await store.close();
  folder[Symbol.dispose]();
});

/** Changes the database as somebody would who may write its file. */
function tamper(sql: string): void {
  const db = new Database(pathOf());
  db.run(sql);
  db.close();
}

const rows = () => store.audit.rows(undefined, 10_000);

describe("verification", () => {
  test("says how many rows there are, and the hash of the last", async () => {
    expect(await audit.verify()).toMatchObject({ rows: 0, head: { seq: 0 }, broken: undefined });
    for (let n = 0; n < 3; n++) await audit.keep(auditEntry({ at: NOW + n }));
    const last = (await rows()).at(-1);
    const { head, ...report } = await audit.verify();
    expect(report).toMatchObject({ rows: 3, broken: undefined, anchor: { seq: 0 }, hasNoted: false });
    expect([head.seq, hex(head.hash)]).toEqual([3, hex(last?.hash as Uint8Array)]);
  });

  test("more rows than a page has are all read", async () => {
    await store.audit.append(Array.from({ length: 1_201 }, (_, n) => auditEntry({ at: NOW + n })));
    expect(await audit.verify()).toMatchObject({ rows: 1_201, broken: undefined });
  });

  test("finds every byte that is edited, in every column of every row", async () => {
    await store.audit.append([auditEntry(), auditEntry({ at: NOW + 1, about: '{"name":"ü"}' }), auditEntry({ at: NOW + 2 })]);
    const [first] = await rows();
    const columns = Object.keys(first ?? {}).map((field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
    expect(columns.length).toBe(14);
    let edits = 0;
    for (const seq of [1, 2, 3])
      for (const column of columns.filter((name) => name !== "seq")) {
        const db = new Database(pathOf());
        const { value } = db.query(`select ${column} as value from audit where seq = ?`).get(seq) as {
          value: string | number | Uint8Array;
        };
        const edited =
          typeof value === "number"
            ? [value + 1, -value - 1]
            : Array.from(Buffer.from(value as Uint8Array), (byte, at) => {
                const bytes = Buffer.from(value as Uint8Array);
                bytes[at] = byte ^ 1;
                return typeof value === "string" ? bytes.toString("utf8") : new Uint8Array(bytes);
              });
        for (const other of edited) {
          db.query(`update audit set ${column} = ? where seq = ?`).run(other, seq);
          const { broken } = await audit.verify();
          if (broken?.seq !== seq) throw new Error(`row ${seq}, ${column}: ${String(other)} was not found`);
          edits++;
        }
        db.query(`update audit set ${column} = ? where seq = ?`).run(value, seq);
        db.close();
      }
    expect(edits).toBeGreaterThan(400);
    expect(await audit.verify()).toMatchObject({ rows: 3, broken: undefined });
  });

  const COPY = "at, team_id, client_id, client_name, session_id, endpoint, about, address, environment_id, code, count, trace_id, hash";
  test.each<[what: string, found: number, ...statements: string[]]>([
    ["the first row is deleted", 2, "delete from audit where seq = 1"],
    ["a row is deleted", 3, "delete from audit where seq = 2"],
    ["the last row is deleted", 4, "delete from audit where seq = 4"],
    ["all rows are deleted", 1, "delete from audit"],
    ["a deleted row's gap is closed", 2, "delete from audit where seq = 2", "update audit set seq = seq - 1 where seq > 2"],
    ["two rows change places", 2, "update audit set seq = seq - 5 where seq in (2, 3)", "update audit set seq = 0 - seq where seq < 0"],
    ["a row is copied to the end", 5, `insert into audit select 5, ${COPY} from audit where seq = 4`],
    ["a row is put before the first", 0, `insert into audit select 0, ${COPY} from audit where seq = 4`],
    ["the head is moved back over a deleted row", 3, "delete from audit where seq = 4", "update audit_chain set head_seq = 3"],
    ["the anchor is moved", 1, "update audit_chain set anchor_seq = 1"],
    ["the ends are deleted", 1, "delete from audit_chain"],
  ])("finds that %s", async (_, found, ...statements) => {
    await store.audit.append([1, 2, 3, 4].map((n) => auditEntry({ at: NOW + n })));
    for (const sql of statements) tamper(sql);
    expect((await audit.verify()).broken?.seq).toBe(found);
  });

  test("a log that was written anew, with new hashes, lacks the hash that was noted", async () => {
    await store.audit.append([1, 2, 3].map((n) => auditEntry({ at: NOW + n })));
    const noted = hex((await audit.verify()).head.hash);
    await audit.keep(auditEntry());
    expect(await audit.verify(noted)).toMatchObject({ hasNoted: true, broken: undefined });
    tamper("delete from audit");
    tamper("update audit_chain set head_seq = 0, head_hash = zeroblob(32)");
    await store.audit.append([1, 2, 9, 4].map((n) => auditEntry({ at: NOW + n })));
    expect(await audit.verify(noted)).toMatchObject({ hasNoted: false, broken: undefined });
  });

  test("holds while rows come in and go out", async () => {
    await store.audit.append(Array.from({ length: 2_000 }, (_, n) => auditEntry({ at: NOW + n })));
    const verifying = audit.verify();
    for (let n = 0; n < 20; n++) {
      await audit.keep(auditEntry({ at: NOW + 10_000 + n }));
      await store.audit.prune({ before: NOW, most: 1_000, limit: 100 });
    }
    expect((await verifying).broken).toBeUndefined();
    expect(await audit.verify()).toMatchObject({ rows: 1_000, broken: undefined, anchor: { seq: 1_020 } });
  });
});

test("two processes' stores that append at once make one chain", async () => {
  const other = open();
  const writers = [store, other];
  await Promise.all(
    writers.flatMap((one, w) => Array.from({ length: 100 }, (_, n) => one.audit.append([auditEntry({ about: `${w}/${n}` })]))),
  );
  await other.close();
  expect(new Set((await rows()).map(({ about }) => about)).size).toBe(200);
  expect(await audit.verify()).toMatchObject({ rows: 200, broken: undefined });
});

describe("tallies", () => {
  const refusal = (patch: Partial<AuditEntry> = {}) =>
    auditEntry({ code: "unauthenticated", clientId: "", clientName: "", sessionId: "", ...patch });
  const kept = async () => (await rows()).map(({ address, code, count }) => [address, code, count]);

  test("the first of a kind has a row at once, and the others one at the minute's end", async () => {
    for (let n = 0; n < 1_000; n++) await audit.tally(refusal());
    await audit.tally(refusal({ address: "10.0.0.1" }));
    expect(await kept()).toEqual([
      ["127.0.0.1", "unauthenticated", 1],
      ["10.0.0.1", "unauthenticated", 1],
    ]);
    clock.held.shift()?.();
    await eventually(async () => (await kept()).length === 3, "the rest is counted");
    expect((await kept())[2]).toEqual(["127.0.0.1", "unauthenticated", 999]);
    await audit.tally(refusal());
    expect((await kept()).length).toBe(4);
  });

  test("many addresses are counted together, so that nobody fills the disk", async () => {
    for (let n = 0; n < 10_000; n++) await audit.tally(refusal({ address: `10.0.${n >> 8}.${n & 255}` }));
    expect((await rows()).length).toBe(31);
    await audit.close();
    const last = (await kept()).at(-1);
    expect(last).toEqual(["", "unauthenticated", 9_969]);
    expect((await audit.verify()).broken).toBeUndefined();
  });

  test("a row that cannot be kept is said in the log, and nobody else is told", async () => {
    tamper("drop table audit");
    await audit.tally(refusal());
    expect(lines.join("\n")).toContain("refusals are missing in the audit log");
    expect(audit.keep(auditEntry())).rejects.toThrow();
  });
});

test("retention leaves a chain that verifies, and notes its head", async () => {
  await store.audit.append([auditEntry({ at: 1 }), auditEntry({ at: 2 }), auditEntry({ at: Date.now() })]);
  lines.length = 0;
  const job = auditRetention({ store: store.audit, clock, log: createLog({ write: (line) => lines.push(line), clock }) });
  await job.run(new AbortController().signal);
  const { head, ...report } = await audit.verify();
  expect(report).toMatchObject({ rows: 1, broken: undefined, anchor: { seq: 2 } });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ row: 3, hash: hex(head.hash) });
  expect(MOST_AUDIT_ROWS).toBeGreaterThan(100_000);
});
