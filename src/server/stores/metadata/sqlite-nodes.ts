import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { flag, integer, rowCodec, text } from "../sqlite/row-codec.ts";
import type { NodeRecord, NodeState, NodeStore } from "./nodes.ts";

const NODES = rowCodec<NodeRecord>("node", {
  id: text,
  url: text,
  gatewayUrl: text,
  version: text,
  isDraining: flag,
  startedAt: integer,
  heartbeatAt: integer,
});

/** The nodes of the SQLite backend. */
export function nodeQueries(db: Database, writer: Writer, now: () => number): NodeStore {
  const insert = (node: NodeState, at: number): void => {
    db.query("delete from node where id = ?").run(node.id);
    db.query(NODES.insert).run(NODES.parameters({ ...node, startedAt: at, heartbeatAt: at }));
  };
  return {
    join: (node) =>
      writer.write(() => {
        const at = now();
        insert(node, at);
        return at;
      }),

    heartbeat: (node) =>
      writer.write(() => {
        const at = now();
        const { sql, parameters } = NODES.assignments({ ...node, heartbeatAt: at });
        if (db.query(`update node set ${sql} where id = $id`).run(parameters).changes === 0) insert(node, at);
        return at;
      }),

    leave: (id) => writer.write(() => void db.query("delete from node where id = ?").run(id)),

    async list(withinMs) {
      return db
        .query<object, [number]>("select * from node where heartbeat_at >= ? order by started_at, id")
        .all(now() - withinMs)
        .map((row) => NODES.record(row));
    },

    purge: (olderThanMs) => writer.write(() => db.query("delete from node where heartbeat_at < ?").run(now() - olderThanMs).changes),
  };
}
