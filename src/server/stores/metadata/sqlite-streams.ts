import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { bytes, type Column, flag, integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type {
  DeadLetter,
  DeadLetterBounds,
  DeadLetterChoice,
  PartitionKey,
  PartitionLease,
  StreamFailure,
  StreamRecord,
  StreamStore,
} from "./streams.ts";

/** An offset: texts of one length, so that they order as numbers do. */
const offset: Column<bigint> = { encode: (value) => String(value).padStart(20, "0"), decode: (stored) => BigInt(stored as string) };

/** The streams of the SQLite driver. */
export function sqliteStreams(db: Database, writer: Writer, now: () => number): StreamStore {
  const streams = createTable<StreamRecord>(db, "stream", {
    id: text,
    environmentId: text,
    name: text,
    isPaused: flag,
    failure: optional(json<StreamFailure>()),
    createdAt: integer,
  });
  const leases = createTable<PartitionLease>(db, "stream_lease", {
    streamId: text,
    partition: integer,
    node: text,
    until: integer,
    problem: text,
  });
  const letters = createTable<DeadLetter>(db, "dead_letter", {
    seq: integer,
    streamId: text,
    partition: integer,
    offset,
    timestamp: integer,
    key: optional(bytes),
    value: optional(bytes),
    size: integer,
    reason: text,
    stage: oneOf(),
    failedAt: integer,
  });
  const homes = createTable<{ readonly environmentId: string; readonly thing: string; readonly node: string }>(db, "home", {
    environmentId: text,
    thing: text,
    node: text,
  });
  const inList = (values: readonly unknown[]): string => JSON.stringify(values);
  const placeOf = ({ streamId, partition }: PartitionKey): string => `${streamId}/${partition}`;
  const nextSeq = (): number =>
    (db.query<{ seq: number }, []>("select seq from sqlite_sequence where name = 'dead_letter'").get()?.seq ?? 0) + 1;

  /** Removes the oldest letters of a stream beyond the bounds. */
  const trim = (streamId: string, { most, mostBytes }: DeadLetterBounds): number => {
    const kept = db
      .query<{ seq: number }, [string, number, number]>(
        `select seq from (
           select seq, row_number() over newest as place, sum(coalesce(length(value), 0)) over newest as held
           from dead_letter where stream_id = ? window newest as (order by seq desc))
         where place > ? or (held > ? and place > 1) order by seq desc limit 1`,
      )
      .get(streamId, most, mostBytes);
    if (!kept) return 0;
    return db.query("delete from dead_letter where stream_id = ? and seq <= ?").run(streamId, kept.seq).changes;
  };

  return {
    ensure: (environmentId, names, newId) =>
      writer.write(() =>
        names.map((name) => {
          const found = streams.one("where environment_id = ? and name = ?", environmentId, name);
          if (found) return found;
          const made: StreamRecord = { id: newId(), environmentId, name, isPaused: false, failure: undefined, createdAt: now() };
          streams.insert(made);
          return made;
        }),
      ),

    async list(environmentId) {
      return streams.all("where environment_id = ? order by name", environmentId);
    },

    async get(id) {
      return streams.one("where id = ?", id);
    },

    setPaused: (id, isPaused) =>
      writer.write(
        () => void streams.update({ isPaused, ...(isPaused ? {} : { failure: undefined }) }, "where id = $stream", { stream: id }),
      ),

    fail: (id, failure) =>
      writer.write(() => {
        if (streams.one("where id = ?", id)?.failure?.deploymentId === failure.deploymentId) return;
        streams.update({ failure: { ...failure, at: now() } }, "where id = $stream", { stream: id });
      }),

    noteTold: (id, at) =>
      writer.write(() => {
        const failure = streams.one("where id = ?", id)?.failure;
        if (failure?.at === at) streams.update({ failure: { ...failure, isTold: true } }, "where id = $stream", { stream: id });
      }),

    lease: (node, shared, share, ttlMs, own = []) =>
      writer.write(() => {
        const at = now();
        const isOwn = new Set(own.map(placeOf));
        const most = own.length + share;
        const asked = new Map([...own, ...shared].map((key) => [placeOf(key), key]));
        const held = leases.all("where node = ? and until > ? order by stream_id, partition", node, at);
        const wanted = held.filter((lease) => asked.has(placeOf(lease)));
        const kept = [
          ...wanted.filter((lease) => isOwn.has(placeOf(lease))),
          ...wanted.filter((lease) => !isOwn.has(placeOf(lease))).slice(0, share),
        ];
        const keptPlaces = new Set(kept.map(placeOf));
        for (const { streamId, partition } of held)
          if (!keptPlaces.has(placeOf({ streamId, partition })))
            leases.remove("where stream_id = ? and partition = ? and node = ?", streamId, partition, node);
        const until = at + ttlMs;
        for (const { streamId, partition } of kept)
          leases.update({ until }, "where stream_id = $s and partition = $p", { s: streamId, p: partition });
        const taken: PartitionKey[] = [...kept];
        for (const [place, { streamId, partition }] of asked) {
          if (taken.length >= most) break;
          if (keptPlaces.has(place)) continue;
          const other = leases.one("where stream_id = ? and partition = ?", streamId, partition);
          if (other && other.until > at && other.node !== node) continue;
          leases.remove("where stream_id = ? and partition = ?", streamId, partition);
          leases.insert({ streamId, partition, node, until, problem: "" });
          taken.push({ streamId, partition });
        }
        return taken.map(({ streamId, partition }) => ({ streamId, partition }));
      }),

    release: (node) => writer.write(() => void leases.remove("where node = ?", node)),

    async homeOf(environmentId, thing) {
      return homes.one("where environment_id = ? and thing = ?", environmentId, thing)?.node;
    },

    claimHome: (environmentId, thing, node, gone) =>
      writer.write(() => {
        const found = homes.one("where environment_id = ? and thing = ?", environmentId, thing);
        if (found && found.node !== gone) return found.node;
        homes.remove("where environment_id = ? and thing = ?", environmentId, thing);
        homes.insert({ environmentId, thing, node });
        return node;
      }),

    async leases(streamIds) {
      return leases.all(
        "where stream_id in (select value from json_each(?)) and until > ? order by stream_id, partition",
        inList(streamIds),
        now(),
      );
    },

    note: (node, { streamId, partition }, problem) =>
      writer.write(
        () =>
          void leases.update({ problem }, "where stream_id = $s and partition = $p and node = $n", {
            s: streamId,
            p: partition,
            n: node,
          }),
      ),

    addLetters: (added, bounds) =>
      writer.write(() => {
        let seq = nextSeq();
        for (const letter of added) {
          letters.remove(
            "where stream_id = ? and partition = ? and offset = ?",
            letter.streamId,
            letter.partition,
            offset.encode(letter.offset),
          );
          letters.insert({ ...letter, seq: seq++, failedAt: now() });
        }
        return [...new Set(added.map(({ streamId }) => streamId))].reduce((sum, streamId) => sum + trim(streamId, bounds), 0);
      }),

    async letters({ streamId, before, after, among, limit, oldestFirst }: DeadLetterChoice) {
      return letters.all(
        `where stream_id = ? and seq < ? and seq > ? and (? is null or seq in (select value from json_each(?)))
         order by seq ${oldestFirst ? "asc" : "desc"} limit ?`,
        streamId,
        before ?? Number.MAX_SAFE_INTEGER,
        after ?? 0,
        among ? 1 : null,
        inList(among ?? []),
        limit,
      );
    },

    async countLetters(streamIds) {
      const rows = db
        .query<{ id: string; letters: number }, [string]>(
          "select stream_id as id, count(*) as letters from dead_letter where stream_id in (select value from json_each(?)) group by stream_id",
        )
        .all(inList(streamIds));
      return new Map(rows.map(({ id, letters: count }) => [id, count]));
    },

    removeLetters: (streamId, seqs) =>
      writer.write(
        () =>
          db.query("delete from dead_letter where stream_id = ? and seq in (select value from json_each(?))").run(streamId, inList(seqs))
            .changes,
      ),

    purgeLetters: (olderThanMs) =>
      writer.write(() => db.query("delete from dead_letter where failed_at < ?").run(now() - olderThanMs).changes),

    forget: (environmentId) =>
      writer.write(() => {
        const gone = streams.remove("where environment_id = ?", environmentId).map(({ id }) => id);
        homes.remove("where environment_id = ?", environmentId);
        for (const table of [leases, letters]) table.remove("where stream_id in (select value from json_each(?))", inList(gone));
        return gone;
      }),
  };
}
