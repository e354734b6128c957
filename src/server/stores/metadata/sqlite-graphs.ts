import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import type { GraphStore } from "./graphs.ts";

/** Graphs of the SQLite driver. */
export function sqliteGraphs(db: Database, writer: Writer): GraphStore {
  return {
    putGraph: (deploymentId, graph) =>
      writer.write(() => {
        db.query("insert into graph (deployment_id, bytes) values (?1, ?2) on conflict (deployment_id) do update set bytes = ?2").run(
          deploymentId,
          graph,
        );
      }),

    async graph(deploymentId) {
      return db.query<{ bytes: Uint8Array }, [string]>("select bytes from graph where deployment_id = ?").get(deploymentId)?.bytes;
    },
  };
}
