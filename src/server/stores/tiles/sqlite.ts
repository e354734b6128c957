/**
 * The tile store on SQLite, in this process: reads answer at once, and what is written is on the
 * disk when its promise resolves. One process owns the file.
 */

import type { Database, Statement } from "bun:sqlite";
import { createWriter, type Writer } from "../sqlite/group-commit.ts";
import { explainDamage, openDatabase } from "../sqlite/open.ts";
import { TILES_APPLICATION_ID, TILES_MIGRATIONS } from "./schema.ts";
import type {
  FoundTile,
  MergeStates,
  SeriesMeasures,
  StreamPartition,
  StreamPosition,
  Tile,
  TileCommit,
  TileKey,
  TileRead,
  TileReplacement,
  TileStore,
} from "./store.ts";

/** Groups that are walked in a step, and tiles that are removed or counted in one. */
const GROUPS_PER_STEP = 256;
const TILES_PER_STEP = 4_096;
/** Series of the probe, which no series has. */
const PROBE_SERIES = -1;

/** Options with which the store is opened. */
export interface SqliteTileOptions {
  /** Version of the program, for the message about a newer schema. */
  readonly programVersion?: string;
}

/**
 * Opens or creates the store. `:memory:` keeps nothing on disk.
 * @throws StartError when the file has a newer schema, is another program's, or is damaged.
 */
export function openSqliteTileStore(path: string, options: SqliteTileOptions = {}): TileStore {
  const db = openDatabase({
    path,
    applicationId: TILES_APPLICATION_ID,
    migrations: TILES_MIGRATIONS,
    synchronous: "full",
    programVersion: options.programVersion ?? "unknown",
  });
  db.run("pragma mmap_size = 268435456");
  db.run("pragma cache_size = -16384");
  try {
    return new SqliteTileStore(db);
  } catch (error) {
    db.close();
    throw explainDamage(path, error);
  }
}

/** Position of a group of a series. */
interface GroupPosition {
  readonly scope: string;
  readonly grp: string;
}

interface StoredPosition {
  readonly partition: number;
  readonly next_offset: string;
  readonly watermark: number | null;
}

class SqliteTileStore implements TileStore {
  readonly #db: Database;
  readonly #writer: Writer;
  readonly #range: Statement<never, [number, string, string, number, number]>;
  readonly #one: Statement<{ state: Uint8Array }, [number, string, string, number]>;
  readonly #upsert: Statement<unknown, [number, string, string, number, Uint8Array]>;
  readonly #position: Statement<StoredPosition, [string, string, number]>;
  readonly #move: Statement<unknown, [string, string, number, string, number | null]>;
  readonly #nextGroup: Statement<GroupPosition, [number, string, string]>;
  readonly #removeRange: Statement<unknown, [number, string, string, number, number]>;
  #closed = false;

  constructor(db: Database) {
    this.#db = db;
    this.#writer = createWriter(db);
    this.#range = db.prepare(
      "select bucket, state from tile where series = ?1 and scope = ?2 and grp = ?3 and bucket >= ?4 and bucket < ?5 order by bucket",
    );
    this.#one = db.prepare("select state from tile where series = ?1 and scope = ?2 and grp = ?3 and bucket = ?4");
    this.#upsert = db.prepare(
      "insert into tile (series, scope, grp, bucket, state) values (?1, ?2, ?3, ?4, ?5) on conflict do update set state = excluded.state",
    );
    this.#position = db.prepare(
      "select partition, next_offset, watermark from stream_position where scope = ?1 and stream_id = ?2 and partition = ?3",
    );
    this.#move = db.prepare(
      `insert into stream_position (scope, stream_id, partition, next_offset, watermark) values (?1, ?2, ?3, ?4, ?5)
       on conflict do update set next_offset = excluded.next_offset, watermark = excluded.watermark`,
    );
    this.#nextGroup = db.prepare("select scope, grp from tile where series = ?1 and (scope, grp) > (?2, ?3) order by scope, grp limit 1");
    this.#removeRange = db.prepare("delete from tile where series = ?1 and scope = ?2 and grp = ?3 and bucket >= ?4 and bucket < ?5");
  }

  read(scope: string, reads: readonly TileRead[]): readonly (readonly FoundTile[])[] {
    return reads.map(({ seriesId, group, from, until }) =>
      (this.#range.values(seriesId, scope, group, from, until) as [number, Uint8Array][]).map(([bucket, state]) => ({ bucket, state })),
    );
  }

  commit(scope: string, { deltas, guard, steps }: TileCommit, merge: MergeStates): Promise<boolean> {
    return this.#writer.write(() => {
      for (const { streamId, partition, expected } of steps)
        if (this.#position.get(scope, streamId, partition)?.next_offset !== expected?.toString()) return false;
      const marks = new Map<number, readonly FoundTile[]>();
      for (const delta of deltas) {
        const { seriesId, group, bucket, state } = delta;
        if (guard) {
          const found = marks.get(seriesId) ?? this.read(scope, [guard.read(seriesId)])[0] ?? [];
          marks.set(seriesId, found);
          if (!guard.admits(delta, found)) continue;
        }
        const stored = this.#one.get(seriesId, scope, group, bucket)?.state;
        this.#upsert.run(seriesId, scope, group, bucket, stored ? merge(seriesId, stored, state) : state);
      }
      for (const { streamId, partition, offset, watermark } of steps)
        this.#move.run(scope, streamId, partition, offset.toString(), watermark ?? null);
      return true;
    });
  }

  async replace(scope: string, replacements: readonly TileReplacement[]): Promise<void> {
    for (const { seriesId, from, until, tiles } of replacements)
      await this.#writer.write(() => {
        for (let at: GroupPosition | null = this.#groupAfter(seriesId, { scope, grp: "" }, true); at?.scope === scope; ) {
          this.#removeRange.run(seriesId, scope, at.grp, from, until);
          at = this.#groupAfter(seriesId, at, false);
        }
        this.#insert(scope, tiles);
      });
  }

  async positions(scope: string, streamId: string): Promise<readonly StreamPosition[]> {
    return this.#db
      .query<StoredPosition, [string, string]>(
        "select partition, next_offset, watermark from stream_position where scope = ? and stream_id = ? order by partition",
      )
      .all(scope, streamId)
      .map(({ partition, next_offset, watermark }) => ({
        ...{ streamId, partition, offset: BigInt(next_offset) },
        watermark: watermark ?? undefined,
      }));
  }

  seek(scope: string, moves: readonly (StreamPartition & { readonly offset: bigint | undefined })[]): Promise<void> {
    return this.#writer.write(() => {
      for (const { streamId, partition, offset } of moves)
        if (offset !== undefined) this.#move.run(scope, streamId, partition, offset.toString(), null);
        else
          this.#db.query("delete from stream_position where scope = ? and stream_id = ? and partition = ?").run(scope, streamId, partition);
    });
  }

  forgetStreams(scope: string, streamIds: readonly string[]): Promise<void> {
    return this.#writer.write(() => {
      for (const streamId of streamIds)
        this.#db.query("delete from stream_position where scope = ? and stream_id = ?").run(scope, streamId);
    });
  }

  deleteGroups(scope: string, groups: readonly Pick<TileKey, "seriesId" | "group">[]): Promise<number> {
    return this.#writer.write(() =>
      groups.reduce(
        (removed, { seriesId, group }) =>
          removed + this.#db.query("delete from tile where series = ? and scope = ? and grp = ?").run(seriesId, scope, group).changes,
        0,
      ),
    );
  }

  async prune(seriesId: number, before: number, signal?: AbortSignal): Promise<number> {
    let removed = 0;
    let at = this.#groupAfter(seriesId, { scope: "", grp: "" }, true);
    while (at && this.#goesOn(signal)) {
      removed += await this.#writer.write(() => {
        let changes = 0;
        for (let groups = 0; at && groups < GROUPS_PER_STEP; groups++) {
          changes += this.#removeRange.run(seriesId, at.scope, at.grp, Number.MIN_SAFE_INTEGER, before).changes;
          at = this.#groupAfter(seriesId, at, false);
        }
        return changes;
      });
    }
    return removed;
  }

  async dropSeries(seriesIds: readonly number[], signal?: AbortSignal): Promise<number> {
    let removed = 0;
    for (const seriesId of seriesIds) removed += await this.#removeAll("series = ?1", [seriesId], signal);
    return removed;
  }

  async dropScope(scope: string): Promise<void> {
    await this.#writer.write(() => this.#db.query("delete from stream_position where scope = ?").run(scope));
    for (const seriesId of this.#seriesIds()) await this.#removeAll("series = ?1 and scope = ?2", [seriesId, scope], undefined);
  }

  async measure(): Promise<ReadonlyMap<number, SeriesMeasures>> {
    const page = this.#db.query<
      { series: number; scope: string; grp: string; bucket: number; bytes: number },
      [number, string, string, number]
    >(
      `select series, scope, grp, bucket, length(state) + length(cast(grp as blob)) + length(scope) + 16 as bytes from tile
       where (series, scope, grp, bucket) > (?1, ?2, ?3, ?4) order by series, scope, grp, bucket limit ${TILES_PER_STEP}`,
    );
    const found = new Map<number, { tiles: number; groups: number; bytes: number }>();
    let last: Parameters<typeof page.all> = [Number.MIN_SAFE_INTEGER, "", "", 0];
    while (!this.#closed) {
      const rows = page.all(...last);
      for (const { series, scope, grp, bucket, bytes } of rows) {
        const sums = found.get(series) ?? { tiles: 0, groups: 0, bytes: 0 };
        found.set(series, sums);
        sums.tiles++;
        sums.bytes += bytes;
        if (last[0] !== series || last[1] !== scope || last[2] !== grp) sums.groups++;
        last = [series, scope, grp, bucket];
      }
      if (rows.length < TILES_PER_STEP) break;
      await Bun.sleep(0);
    }
    return found;
  }

  probe(): void {
    const state = crypto.getRandomValues(new Uint8Array(8));
    this.#upsert.run(PROBE_SERIES, "~probe", "", 0, state);
    const found = this.#one.get(PROBE_SERIES, "~probe", "", 0);
    this.#db.query("delete from tile where series = ?").run(PROBE_SERIES);
    if (!found || !state.every((byte, index) => byte === found.state[index]))
      throw new Error("the tile store did not return what was written to it");
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#writer.flush();
    for (const statement of [
      ...[this.#range, this.#one, this.#upsert, this.#position, this.#move],
      ...[this.#nextGroup, this.#removeRange],
    ])
      statement.finalize();
    this.#db.close();
  }

  #insert(scope: string, tiles: readonly Tile[]): void {
    for (const { seriesId, group, bucket, state } of tiles) this.#upsert.run(seriesId, scope, group, bucket, state);
  }

  /** The group after one, or from it on. */
  #groupAfter(seriesId: number, { scope, grp }: GroupPosition, isInclusive: boolean): GroupPosition | null {
    if (!isInclusive) return this.#nextGroup.get(seriesId, scope, grp);
    return this.#db
      .query<GroupPosition, [number, string, string]>(
        "select scope, grp from tile where series = ?1 and (scope, grp) >= (?2, ?3) order by scope, grp limit 1",
      )
      .get(seriesId, scope, grp);
  }

  #seriesIds(): number[] {
    const ids: number[] = [];
    const next = this.#db.query<{ series: number }, [number]>("select series from tile where series > ? order by series limit 1");
    for (let at = next.get(Number.MIN_SAFE_INTEGER); at; at = next.get(at.series)) ids.push(at.series);
    return ids;
  }

  async #removeAll(where: string, parameters: (number | string)[], signal: AbortSignal | undefined): Promise<number> {
    const remove = this.#db.query<unknown, (number | string)[]>(
      `delete from tile where (series, scope, grp, bucket) in (select series, scope, grp, bucket from tile where ${where} limit ${TILES_PER_STEP})`,
    );
    let removed = 0;
    while (this.#goesOn(signal)) {
      const { changes } = await this.#writer.write(() => remove.run(...parameters));
      removed += changes;
      if (changes < TILES_PER_STEP) break;
    }
    return removed;
  }

  #goesOn(signal: AbortSignal | undefined): boolean {
    return !this.#closed && !signal?.aborted;
  }
}
