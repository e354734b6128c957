/**
 * Lines of the telemetry store from before the log store had a file of its own. They are copied in
 * parts, each noted in the step that copies it, and removed there afterwards: whenever that ends
 * early, the next start goes on with it, and no line is lost or there twice.
 */

import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import type { LogLevel } from "../../../domain/logs.ts";
import { TELEMETRY_APPLICATION_ID } from "../telemetry/schema.ts";
import type { NewRecord } from "./store.ts";

const PART = 5_000;
/** Name by which the carried-over rows are noted. */
const SOURCE = "telemetry.log";
/** Logger of the lines of builds. */
const BUILD_LOGGER = "deployment";

interface OldLine {
  readonly seq: number;
  readonly environmentId: string;
  readonly deploymentId: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly level: LogLevel;
  readonly logger: string;
  readonly resolver: string;
  readonly queryId: string;
  readonly text: string;
}

/** Moves the lines of a `telemetry.db`. */
export function carryOver(db: Database, path: string, insert: (records: readonly NewRecord[]) => void): void {
  if (!existsSync(path)) return;
  db.query("attach database ? as old").run(path);
  try {
    const owner = db.query<{ application_id: number }, []>("pragma old.application_id").get()?.application_id;
    if (owner !== TELEMETRY_APPLICATION_ID || !db.query("select 1 from old.sqlite_schema where name = 'log'").get()) return;
    for (;;) {
      const upTo = db.query<{ upTo: number }, [string]>("select up_to as upTo from carried where source = ?").get(SOURCE)?.upTo ?? 0;
      const lines = db
        .query<OldLine, [number, number]>(
          `select seq, environment_id as environmentId, deployment_id as deploymentId, at, level, logger, resolver, query_id as queryId, text
           from old.log where seq > ? order by seq limit ?`,
        )
        .all(upTo, PART);
      const last = lines.at(-1)?.seq ?? upTo;
      db.transaction(() => {
        insert(lines.map(newRecord));
        db.query("insert or replace into carried (source, up_to) values (?, ?)").run(SOURCE, last);
      })();
      db.query("delete from old.log where seq <= ?").run(last);
      if (lines.length < PART) return;
    }
  } finally {
    db.run("detach database old");
  }
}

function newRecord({ at, queryId, text, seq: _, ...line }: OldLine): NewRecord {
  const isBuild = line.logger === BUILD_LOGGER;
  return {
    ...line,
    at: at * 1_000,
    component: isBuild ? "build" : "engine",
    operationId: isBuild ? line.deploymentId : queryId,
    message: text,
  };
}
