import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, rowCodec, text } from "../sqlite/row-codec.ts";
import { MOST_PROGRESS_LINES, type ProgressLine, type ProgressStore } from "./progress.ts";

const LINES = rowCodec<Omit<ProgressLine, "seq">>("deployment_progress", { deploymentId: text, node: text, text });
const READ = rowCodec<ProgressLine>("deployment_progress", { seq: integer, deploymentId: text, node: text, text });

/** The progress lines of the SQLite backend. */
export function progressQueries(db: Database, writer: Writer, now: () => number): ProgressStore {
  return {
    add: (line) =>
      writer.write(() => {
        db.query(LINES.insert).run(LINES.parameters(line));
        db.query(
          `delete from deployment_progress where deployment_id = $id and seq <= (
             select seq from deployment_progress where deployment_id = $id order by seq desc limit 1 offset $most)`,
        ).run({ id: line.deploymentId, most: MOST_PROGRESS_LINES });
      }),

    async since(deploymentId, seq) {
      return db
        .query<object, [string, number]>("select * from deployment_progress where deployment_id = ? and seq > ? order by seq")
        .all(deploymentId, seq)
        .map((row) => READ.record(row));
    },

    async last(deploymentIds) {
      return db
        .query<object, [string]>(
          `select * from deployment_progress where seq in (
             select max(seq) from deployment_progress where deployment_id in (select value from json_each(?)) group by deployment_id)`,
        )
        .all(JSON.stringify(deploymentIds))
        .map((row) => READ.record(row));
    },

    purge: (olderThanMs) =>
      writer.write(
        () =>
          db
            .query("delete from deployment_progress where deployment_id in (select id from deployment where updated_at < ?)")
            .run(now() - olderThanMs).changes,
      ),
  };
}
