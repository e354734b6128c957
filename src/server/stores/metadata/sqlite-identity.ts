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
    tokenId: optional(text),
    environments: optional(json()),
    expiresAt: optional(integer),
    createdBy: optional(text),
    personId: optional(text),
    subject: optional(text),
    parentId: optional(text),
  });
}

const ENVIRONMENTS = `select e.id, e.name, p.id as projectId, p.name as projectName, p.team_id as teamId, e.created_at as createdAt,
  e.suspended_at as suspendedAt from environment e join project p on p.id = e.project_id where e.deleted_at is null`;

type EnvironmentRow = Omit<EnvironmentRecord, "suspendedAt"> & { readonly suspendedAt: number | null };

function recordOf({ suspendedAt, ...environment }: EnvironmentRow): EnvironmentRecord {
  return suspendedAt === null ? environment : { ...environment, suspendedAt };
}

/** Tenants, environments and clients of the SQLite driver. */
export function sqliteIdentity(db: Database, writer: Writer): IdentityStore {
  const clients = clientTable(db);

  return {
    bootstrap: ({ team, project, environment, client, now }) =>
      writer.write(() => {
        if (db.query("select 1 from team limit 1").get()) return false;
        db.query("insert into team (id, name, created_at) values (?, ?, ?)").run(team.id, team.name, now);
        db.query("insert into project (id, team_id, name, created_at) values (?, ?, ?, ?)").run(project.id, team.id, project.name, now);
        db.query("insert into environment (id, project_id, name, created_at) values (?, ?, ?, ?)").run(
          environment.id,
          project.id,
          environment.name,
          now,
        );
        clients.insert({ ...client, teamId: team.id, createdAt: now });
        return true;
      }),

    async environments(teamId) {
      return db
        .query<EnvironmentRow, [string | null]>(`${ENVIRONMENTS} and (?1 is null or p.team_id = ?1) order by e.name, p.name`)
        .all(teamId ?? null)
        .map(recordOf);
    },

    async environment(id) {
      const found = db.query<EnvironmentRow, [string]>(`${ENVIRONMENTS} and e.id = ?`).get(id);
      return found ? recordOf(found) : undefined;
    },

    async findEnvironment({ teamId, project, environment }) {
      const found = db
        .query<EnvironmentRow, [string, string, string]>(
          `${ENVIRONMENTS} and p.team_id = ?1 and (?2 = '' or p.id = ?2 or p.name = ?2) and (e.id = ?3 or e.name = ?3)
           order by e.id = ?3 desc, p.created_at, p.id limit 1`,
        )
        .get(teamId, project, environment);
      return found ? recordOf(found) : undefined;
    },

    createClient: (client) => writer.write(() => clients.insert(client)),

    putClient: (client) =>
      writer.write(() => {
        const { id, name, permissions, environments } = client;
        if (clients.update({ name, permissions, environments }, "where id = $key", { key: id }) === 0) clients.insert(client);
      }),

    async client(id) {
      return clients.one("where id = ?", id);
    },

    async clients(teamId) {
      return clients.all("where team_id = ? order by created_at, id", teamId);
    },

    updateClient: (id, change) =>
      writer.write(() => {
        if (Object.keys(change).length > 0) clients.update(change, "where id = $key", { key: id });
        return clients.one("where id = ?", id);
      }),

    touchClient: (id, lastUsedAt) => writer.write(() => void clients.update({ lastUsedAt }, "where id = $key", { key: id })),

    deleteClient: (id) =>
      writer.write(() => {
        const removed = clients.remove("where id = ?", id);
        if (removed.length === 0) return undefined;
        return [...removed, ...clients.remove("where parent_id = ?", id)]
          .map((client) => {
            db.query("delete from entry where client_id = ?").run(client.id);
            db.query("update login_session set state = 'denied' where state = 'confirmed' and confirmed_by = ?").run(client.id);
            return db.query("delete from browser_session where client_id = ?").run(client.id).changes;
          })
          .reduce((sum, changes) => sum + changes, 0);
      }),
  };
}
