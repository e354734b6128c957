/**
 * The file of the server's own topics: WAL, synchronous=FULL; appends that wait together share one
 * flush.
 */

import type { Database } from "bun:sqlite";
import { schemaVersion, usedBytes } from "../sqlite/file-figures.ts";
import { createWriter, type Writer } from "../sqlite/group-commit.ts";
import { openDatabase } from "../sqlite/open.ts";
import { TOPICS_APPLICATION_ID, TOPICS_MIGRATIONS } from "./schema.ts";
import {
  MAX_TOPICS,
  type NewBatch,
  type ReadBatches,
  type StoredBatch,
  type StoredEnds,
  type StoredPosition,
  type StoredTopic,
  type TopicFigures,
  type TopicLimits,
  type TopicPlace,
  TopicStoreError,
} from "./store.ts";

/** Options with which the file is opened. */
export interface TopicsFile {
  /** Absolute path of `topics.db`, or `:memory:`. */
  readonly path: string;
  readonly programVersion: string;
}

interface PartitionRow extends StoredEnds {
  readonly lastAt: number;
}

const DAY_MS = 86_400_000;
const RETENTION_MS = 7 * DAY_MS;
const MAX_TOPIC_BYTES = 1024 ** 3;
/** Batches that one step of a removal looks at. */
const STEP_BATCHES = 500;

/** The open file. */
export class TopicsDatabase {
  readonly #db: Database;
  readonly #writer: Writer;
  #removed = 0;

  constructor({ path, programVersion }: TopicsFile) {
    const schema = { applicationId: TOPICS_APPLICATION_ID, migrations: TOPICS_MIGRATIONS };
    this.#db = openDatabase({ path, programVersion, synchronous: "full", ...schema });
    this.#writer = createWriter(this.#db);
  }

  ensure(place: TopicPlace, partitions: number): Promise<number> {
    return this.#writer.write(() => {
      const topic = this.#find(place) ?? this.#make(place);
      const known = this.#partitions(topic).length;
      const insert = this.#db.query("insert into partition (topic, number, earliest, latest, bytes, last_at) values (?, ?, 0, 0, 0, 0)");
      for (let number = known; number < partitions; number++) insert.run(topic, number);
      return Math.max(known, partitions);
    });
  }

  topics(environmentId: string | undefined): readonly StoredTopic[] {
    return this.#db
      .query<StoredTopic, { environmentId: string | null }>(
        `select topic.environment_id as environmentId, topic.name as topic, count(*) as partitions, sum(partition.bytes) as bytes
        from topic join partition on partition.topic = topic.id
        where $environmentId is null or topic.environment_id = $environmentId
        group by topic.id order by topic.environment_id, topic.name`,
      )
      .all({ environmentId: environmentId ?? null });
  }

  ends(place: TopicPlace): readonly StoredEnds[] {
    return this.#partitions(this.#get(place)).map(endsOf);
  }

  offsetsAt(place: TopicPlace, time: number): readonly StoredPosition[] {
    const topic = this.#get(place);
    const first = this.#db.query<{ base: number }, [number, number, number]>(
      "select base from batch where topic = ? and partition = ? and at >= ? order by at, base limit 1",
    );
    return this.#partitions(topic).map(({ partition, latest }) => ({
      partition,
      offset: first.get(topic, partition, time)?.base ?? latest,
    }));
  }

  append(place: TopicPlace, batches: readonly NewBatch[], now: number): Promise<readonly number[]> {
    return this.#writer.write(() => {
      const topic = this.#get(place);
      const insert = this.#db.query("insert into batch (topic, partition, base, count, at, messages) values (?, ?, ?, ?, ?, ?)");
      const move = this.#db.query(
        "update partition set latest = latest + ?, bytes = bytes + ?, last_at = ? where topic = ? and number = ?",
      );
      return batches.map(({ partition, count, messages }) => {
        const { latest, lastAt } = this.#partition(topic, place, partition);
        const at = Math.max(now, lastAt);
        insert.run(topic, partition, latest, count, at, messages);
        move.run(count, messages.length, at, topic, partition);
        return latest;
      });
    });
  }

  read(place: TopicPlace, positions: readonly StoredPosition[], maxMessages: number, maxBytes: number): ReadBatches {
    const topic = this.#get(place);
    // The batch that an offset is in begins before it: the last one that does.
    const query = this.#db.query<StoredBatch, { topic: number; partition: number; offset: number }>(
      `select partition, base, count, at, messages from batch where topic = $topic and partition = $partition and base >= coalesce(
        (select max(base) from batch where topic = $topic and partition = $partition and base <= $offset), $offset)
      order by base`,
    );
    const batches: StoredBatch[] = [];
    const lost: StoredEnds[] = [];
    let [messages, bytes] = [0, 0];
    for (const { partition, offset } of positions) {
      const known = this.#partition(topic, place, partition);
      if (offset < known.earliest || offset > known.latest) {
        lost.push(endsOf(known));
        continue;
      }
      if (offset === known.latest) continue;
      for (const batch of query.iterate({ topic, partition, offset })) {
        if (messages >= maxMessages || (messages > 0 && bytes + batch.messages.length > maxBytes)) break;
        batches.push(batch);
        messages += batch.count - Math.max(0, offset - batch.base);
        bytes += batch.messages.length;
      }
    }
    return { batches, lost };
  }

  forgetEnvironment(environmentId: string): Promise<void> {
    return this.#writer.write(() => {
      this.#db.query("delete from batch where topic in (select id from topic where environment_id = ?)").run(environmentId);
      this.#db.query("delete from topic where environment_id = ?").run(environmentId);
    });
  }

  /** One step of the removal of what is beyond the bounds; resolves with whether there is more. */
  async prune(
    { retentionMs, defaultRetentionMs = RETENTION_MS, maxTopicBytes = MAX_TOPIC_BYTES }: TopicLimits,
    now: number,
  ): Promise<boolean> {
    let left = STEP_BATCHES;
    for (const { id, name, partition, share, bytes } of this.#holding()) {
      const before = now - (retentionMs[name] ?? defaultRetentionMs);
      const beyond = bytes - maxTopicBytes * share;
      const oldest = this.#db.query<{ id: number; at: number; size: number; count: number }, [number, number, number]>(
        "select id, at, length(messages) as size, count from batch where topic = ? and partition = ? order by base limit ?",
      );
      let freed = 0;
      const old: { readonly id: number; readonly count: number }[] = [];
      for (const batch of oldest.all(id, partition, left)) {
        if (batch.at >= before && freed >= beyond) break;
        freed += batch.size;
        old.push(batch);
      }
      if (old.length === 0) continue;
      left -= old.length;
      await this.#writer.write(() => {
        const remove = this.#db.query("delete from batch where id = ?");
        for (const batch of old) remove.run(batch.id);
        this.#db
          .query(
            `update partition set bytes = bytes - $freed, earliest = coalesce(
              (select min(base) from batch where topic = $id and partition = $partition), latest) where topic = $id and number = $partition`,
          )
          .run({ id, partition, freed });
      });
      this.#removed += old.reduce((sum, { count }) => sum + count, 0);
      if (left <= 0) return true;
    }
    return false;
  }

  figures(): TopicFigures {
    const environments = this.#db
      .query<{ environmentId: string; bytes: number }, []>(
        "select environment_id as environmentId, sum(bytes) as bytes from topic join partition on topic = id group by environment_id",
      )
      .all();
    return {
      schemaVersion: schemaVersion(this.#db),
      bytes: usedBytes(this.#db),
      environments: new Map(environments.map(({ environmentId, bytes }) => [environmentId, bytes])),
      removedMessages: this.#removed,
    };
  }

  probe(): Promise<void> {
    return this.#writer.write(() => {
      this.#db.query("insert into topic (environment_id, name) values ('', 'probe') on conflict do nothing").run();
      this.#db.query("delete from topic where environment_id = '' and name = 'probe'").run();
    });
  }

  close(): void {
    this.#writer.flush();
    this.#db.close();
  }

  #find({ environmentId, topic }: TopicPlace): number | undefined {
    return this.#db
      .query<{ id: number }, [string, string]>("select id from topic where environment_id = ? and name = ?")
      .get(environmentId, topic)?.id;
  }

  #get(place: TopicPlace): number {
    const id = this.#find(place);
    if (id === undefined) throw new TopicStoreError("missing", `there is no topic '${place.topic}'`);
    return id;
  }

  #make({ environmentId, topic }: TopicPlace): number {
    const { topics } = this.#db
      .query<{ topics: number }, [string]>("select count(*) as topics from topic where environment_id = ?")
      .get(environmentId) ?? { topics: 0 };
    if (topics >= MAX_TOPICS) throw new TopicStoreError("full", `the environment has ${MAX_TOPICS} topics, which are the most`);
    return Number(this.#db.query("insert into topic (environment_id, name) values (?, ?)").run(environmentId, topic).lastInsertRowid);
  }

  #partitions(topic: number): PartitionRow[] {
    return this.#db
      .query<PartitionRow, [number]>(
        "select number as partition, earliest, latest, last_at as lastAt from partition where topic = ? order by number",
      )
      .all(topic);
  }

  #partition(topic: number, place: TopicPlace, number: number): PartitionRow {
    const row = this.#db
      .query<PartitionRow, [number, number]>(
        "select number as partition, earliest, latest, last_at as lastAt from partition where topic = ? and number = ?",
      )
      .get(topic, number);
    if (!row) throw new TopicStoreError("missing", `the topic '${place.topic}' has no partition ${number}`);
    return row;
  }

  /** Partitions with messages, each with its share of its topic. */
  #holding(): { readonly id: number; readonly name: string; readonly partition: number; readonly share: number; readonly bytes: number }[] {
    return this.#db
      .query<{ id: number; name: string; partition: number; share: number; bytes: number }, []>(
        `select topic.id, topic.name, partition.number as partition, partition.bytes,
          1.0 / (select count(*) from partition as other where other.topic = topic.id) as share
        from topic join partition on partition.topic = topic.id where partition.bytes > 0 order by topic.id, partition.number`,
      )
      .all();
  }
}

function endsOf({ partition, earliest, latest }: PartitionRow): StoredEnds {
  return { partition, earliest, latest };
}
