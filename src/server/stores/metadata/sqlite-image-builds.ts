import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { ImageBuildPhase, ImageBuildRecord, ImageBuildStore } from "./image-builds.ts";

/** Phases after which what a build makes is there. */
const MADE: readonly ImageBuildPhase[] = ["succeeded", "skipped", "omitted"];

/** The builds of the SQLite backend. */
export function sqliteImageBuilds(db: Database, writer: Writer, now: () => number): ImageBuildStore {
  const table = createTable<ImageBuildRecord>(db, "image_build", {
    environmentId: text,
    name: text,
    kind: oneOf(),
    deploymentId: text,
    venv: text,
    runtime: text,
    imageDestinations: json(),
    phase: oneOf(),
    error: text,
    createdAt: integer,
    startedAt: optional(integer),
    endedAt: optional(integer),
  });
  const ITS = "where environment_id = $environment and name = $build";
  const find = (environmentId: string, name: string): ImageBuildRecord | undefined =>
    table.one("where environment_id = ? and name = ?", environmentId, name);
  const unlogged = (environmentId: string, name: string): void => {
    db.query("delete from image_build_line where environment_id = ? and name = ?").run(environmentId, name);
  };

  return {
    begin: (build) =>
      writer.write(() => {
        const { environmentId, name } = build;
        const known = find(environmentId, name);
        if (known && MADE.includes(known.phase)) return false;
        unlogged(environmentId, name);
        const pending = { ...build, phase: "pending", error: "", startedAt: undefined, endedAt: undefined } as const;
        if (known) table.update(pending, ITS, { environment: environmentId, build: name });
        else table.insert({ ...pending, createdAt: now() });
        return true;
      }),

    move: (environmentId, name, phase, error = "") =>
      writer.write(() => {
        const known = find(environmentId, name);
        if (!known || known.endedAt !== undefined) return false;
        const at = phase === "running" ? { startedAt: now() } : { endedAt: now() };
        table.update({ phase, error, ...at }, ITS, { environment: environmentId, build: name });
        return true;
      }),

    stop: (deploymentId, error) =>
      writer.write(() => {
        table.update({ phase: "error", error, endedAt: now() }, "where deployment_id = $deployment and ended_at is null", {
          deployment: deploymentId,
        });
      }),

    async build(environmentId, name) {
      return find(environmentId, name);
    },

    async list({ environmentId, phases, limit, offset }) {
      return table.all(
        `where environment_id = ?1 and (?2 is null or phase in (select value from json_each(?2))) order by seq desc limit ?3 offset ?4`,
        environmentId,
        phases === undefined ? null : JSON.stringify(phases),
        limit,
        offset,
      );
    },

    addLines: (environmentId, name, lines, most) =>
      writer.write(() => {
        for (const line of lines)
          db.query("insert into image_build_line (environment_id, name, text) values (?, ?, ?)").run(environmentId, name, line);
        db.query(
          `delete from image_build_line where environment_id = ?1 and name = ?2 and seq <=
             (select seq from image_build_line where environment_id = ?1 and name = ?2 order by seq desc limit 1 offset ?3)`,
        ).run(environmentId, name, most);
      }),

    async lines(environmentId, name) {
      return db
        .query<{ text: string }, [string, string]>("select text from image_build_line where environment_id = ? and name = ? order by seq")
        .all(environmentId, name)
        .map(({ text: line }) => line);
    },

    purge: (olderThanMs, limit) =>
      writer.write(() => {
        const gone = table.remove(
          "where seq in (select seq from image_build where ended_at < ? order by ended_at limit ?)",
          now() - olderThanMs,
          limit,
        );
        for (const { environmentId, name } of gone) unlogged(environmentId, name);
        return gone.length;
      }),
  };
}
