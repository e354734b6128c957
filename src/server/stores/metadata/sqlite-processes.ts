import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { ProcessEvent, ProcessRecord, ProcessStore } from "./processes.ts";
import type { SqliteUsage } from "./sqlite-usage.ts";

/** The processes of the SQLite driver. */
export function processQueries(db: Database, writer: Writer, addUse: SqliteUsage["addUse"]): ProcessStore {
  const processes = createTable<ProcessRecord>(db, "process", {
    id: text,
    name: text,
    kind: oneOf(),
    node: text,
    host: text,
    pid: integer,
    environmentId: text,
    deploymentId: text,
    resourceGroup: text,
    restarts: integer,
    memoryLimitBytes: optional(integer),
    startedAt: integer,
    readyAt: optional(integer),
    endedAt: optional(integer),
    outcome: oneOf(),
    measuredAt: integer,
    cpuMs: integer,
    memoryBytes: integer,
    peakMemoryBytes: integer,
  });
  const events = createTable<ProcessEvent>(db, "process_event", {
    at: integer,
    type: oneOf(),
    reason: text,
    environmentId: text,
    process: text,
    message: text,
  });
  return {
    begin: (process) => writer.write(() => processes.insert(process)),

    measure: (measures) =>
      writer.write(() => {
        for (const { id, change, used } of measures) {
          processes.update(change, "where id = $key", { key: id });
          addUse(used);
        }
      }),

    endLost: (node) =>
      writer.write(
        () =>
          db
            .query("update process set ended_at = measured_at, outcome = 'lost', memory_bytes = 0 where node = ? and ended_at is null")
            .run(node).changes,
      ),

    async running() {
      return processes.all("where ended_at is null order by name");
    },

    async between(from, until, limit) {
      return processes.all(
        "where started_at < ? and (ended_at is null or ended_at >= ?) order by started_at desc, id desc limit ?",
        until,
        from,
        limit,
      );
    },

    addEvent: (event) => writer.write(() => events.insert(event)),

    async events({ from, until, environmentIds, processes: names, message, limit, offset }) {
      const conditions = ["true"];
      const values: SQLQueryBindings[] = [];
      const condition = (sql: string, ...given: readonly SQLQueryBindings[]): void => {
        conditions.push(sql);
        values.push(...given);
      };
      if (from !== undefined) condition("at >= ?", from);
      if (until !== undefined) condition("at < ?", until);
      if (environmentIds) condition("environment_id in (select value from json_each(?))", JSON.stringify(environmentIds));
      if (names) condition("process in (select value from json_each(?))", JSON.stringify(names));
      if (message) condition("instr(lower(message), lower(?)) > 0", message);
      return events.all(
        `where ${conditions.join(" and ")} order by at desc, rowid desc limit ? offset ?`,
        ...(values as string[]),
        limit,
        offset,
      );
    },

    purge: (before) =>
      writer.write(
        () =>
          db.query("delete from process where ended_at < ?").run(before).changes +
          db.query("delete from process_event where at < ?").run(before).changes,
      ),
  };
}
