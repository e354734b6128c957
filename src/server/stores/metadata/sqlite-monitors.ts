import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, real, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { MonitorSilence, MonitorStanding, MonitorStore } from "./monitors.ts";

const KEY = "where environment_id = ? and name = ?";

/** The monitors of the SQLite driver. */
export function sqliteMonitors(db: Database, writer: Writer): MonitorStore {
  const standings = createTable<MonitorStanding>(db, "monitor", {
    environmentId: text,
    name: text,
    state: oneOf(),
    since: integer,
    value: optional(real),
    labels: json(),
    evaluatedAt: integer,
    brokenSince: optional(integer),
    firedAt: optional(integer),
    toldAt: optional(integer),
  });
  const silences = createTable<MonitorSilence>(db, "monitor_silence", {
    environmentId: text,
    name: text,
    until: integer,
    createdAt: integer,
    clientId: text,
    reason: text,
  });
  const of = (environmentId: string | undefined): [string, ...string[]] =>
    environmentId === undefined ? ["order by environment_id, name"] : ["where environment_id = ? order by name", environmentId];
  return {
    async list(environmentId) {
      return standings.all(...of(environmentId));
    },

    put: (all) =>
      writer.write(() => {
        for (const standing of all) {
          standings.remove(KEY, standing.environmentId, standing.name);
          standings.insert(standing);
        }
      }),

    keepOnly: (environmentId, names) =>
      writer.write(() => {
        const others = "where environment_id = ? and name not in (select value from json_each(?))";
        for (const table of [standings, silences]) table.remove(others, environmentId, JSON.stringify(names));
      }),

    async silences(environmentId) {
      return silences.all(...of(environmentId));
    },

    silence: (silence) =>
      writer.write(() => {
        silences.remove(KEY, silence.environmentId, silence.name);
        silences.insert(silence);
      }),

    endSilence: (environmentId, name) => writer.write(() => silences.remove(KEY, environmentId, name)[0]),
  };
}
