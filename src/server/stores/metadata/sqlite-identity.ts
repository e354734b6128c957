import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { bytes, integer, json, optional, text } from "../sqlite/row-codec.ts";
import { createTable, type Table } from "../sqlite/table.ts";
import type { ClientRecord, EnvironmentRecord, IdentityStore } from "./identity.ts";

/** The table of clients. */
export function clientTable(db: Database): Table<ClientRecord> {
  return createTable<ClientRecord>(db, "client", {
    id: text,
    teamId: text,
    name: text,
    secretHash: bytes,
    permissions: json(),
    createdAt: integer,
    lastUsedAt: optional(integer),
  });
}

const ENVIRONMENTS = `select e.id, e.name, p.id as projectId, p.name as projectName, p.team_id as teamId, e.created_at as createdAt
  from environment e join project p on p.id = e.project_id`;

/** Tenants, environments and clients of the SQLite driver. */
export function sqliteIdentity(db: Database, writer: Writer): IdentityStore {
  const clients = clientTable(db);
  const environments = createTable<Omit<EnvironmentRecord, "projectName" | "teamId">>(db, "environment", {
    id: text,
    name: text,
    projectId: text,
    createdAt: integer,
  });

  return {
    bootstrap: ({ team, project, environment, client, now }) =>
      writer.write(() => {
        if (db.query("select 1 from team limit 1").get()) return false;
        db.query("insert into team (id, name, created_at) values (?, ?, ?)").run(team.id, team.name, now);
        db.query("insert into project (id, team_id, name, created_at) values (?, ?, ?, ?)").run(project.id, team.id, project.name, now);
        environments.insert({ ...environment, projectId: project.id, createdAt: now });
        clients.insert({ ...client, teamId: team.id, createdAt: now });
        return true;
      }),

    async environments(teamId) {
      return db
        .query<EnvironmentRecord, [string | null]>(`${ENVIRONMENTS} where ?1 is null or p.team_id = ?1 order by e.name, p.name`)
        .all(teamId ?? null);
    },

    async environment(id) {
      return db.query<EnvironmentRecord, [string]>(`${ENVIRONMENTS} where e.id = ?`).get(id) ?? undefined;
    },

    async findEnvironment({ teamId, project, environment }) {
      const found = db
        .query<EnvironmentRecord, [string, string, string]>(
          `${ENVIRONMENTS} where p.team_id = ?1 and (?2 = '' or p.id = ?2 or p.name = ?2) and (e.id = ?3 or e.name = ?3)
           order by e.id = ?3 desc, p.name limit 1`,
        )
        .get(teamId, project, environment);
      return found ?? undefined;
    },

    createEnvironment: (environment) => writer.write(() => environments.insert(environment)),

    createClient: (client) => writer.write(() => clients.insert(client)),

    async client(id) {
      return clients.one("where id = ?", id);
    },

    async clients(teamId) {
      return clients.all("where team_id = ? order by created_at, id", teamId);
    },

    touchClient: (id, lastUsedAt) => writer.write(() => void clients.update({ lastUsedAt }, "where id = $key", { key: id })),

    deleteClient: (id) =>
      writer.write(() => {
        if (clients.remove("where id = ?", id).length === 0) return undefined;
        db.query("delete from entry where client_id = ?").run(id);
        db.query("update login_session set state = 'denied' where state = 'confirmed' and confirmed_by = ?").run(id);
        return db.query("delete from browser_session where client_id = ?").run(id).changes;
      }),
  };
}
