import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import type { ClientRecord, EnvironmentRecord, LoginSessionRecord, LoginSessionState, MetadataStore, UploadRecord } from "./store.ts";

/** Milliseconds that an expired login session is kept, so that its page can say that it was too late. */
const EXPIRED_KEPT_MS = 3_600_000;

interface ClientRow {
  id: string;
  team_id: string;
  name: string;
  secret_hash: Uint8Array;
  permissions: string;
  created_at: number;
  last_used_at: number | null;
}

interface LoginSessionRow {
  id: string;
  secret_hash: Uint8Array;
  device_name: string;
  address: string;
  user_code: string;
  state: LoginSessionState;
  permissions: string;
  created_at: number;
  expires_at: number;
}

type IdentityMethods =
  | "bootstrap"
  | "environments"
  | "createEnvironment"
  | "createClient"
  | "client"
  | "clients"
  | "touchClient"
  | "deleteClient"
  | "createLoginSession"
  | "loginSession"
  | "pendingLoginSessions"
  | "decideLoginSession"
  | "takeLoginSession"
  | "createUpload"
  | "upload";

/** Team, environments, credentials, login sessions and uploads of the SQLite backend. */
export function identityQueries(db: Database, writer: Writer): Pick<MetadataStore, IdentityMethods> {
  const insertClient = (client: ClientRecord) =>
    db
      .query("insert into client (id, team_id, name, secret_hash, permissions, created_at) values (?, ?, ?, ?, ?, ?)")
      .run(client.id, client.teamId, client.name, client.secretHash, JSON.stringify(client.permissions), client.createdAt);

  let environments: EnvironmentRecord[] | undefined;

  return {
    bootstrap: ({ team, project, environment, client, now }) =>
      writer.write(() => {
        if (db.query("select 1 from team limit 1").get()) return false;
        environments = undefined;
        db.query("insert into team (id, name, created_at) values (?, ?, ?)").run(team.id, team.name, now);
        db.query("insert into project (id, team_id, name, created_at) values (?, ?, ?, ?)").run(project.id, team.id, project.name, now);
        db.query("insert into environment (id, project_id, name, created_at) values (?, ?, ?, ?)").run(
          environment.id,
          project.id,
          environment.name,
          now,
        );
        insertClient({ ...client, teamId: team.id, createdAt: now });
        return true;
      }),

    environments() {
      environments ??= db
        .query<EnvironmentRecord, []>(
          `select e.id, e.name, p.id as projectId, p.name as projectName, p.team_id as teamId, e.created_at as createdAt
           from environment e join project p on p.id = e.project_id order by e.name, p.name`,
        )
        .all();
      return environments;
    },

    createEnvironment: ({ id, name, projectId, createdAt }) =>
      writer.write(() => {
        environments = undefined;
        db.query("insert into environment (id, project_id, name, created_at) values (?, ?, ?, ?)").run(id, projectId, name, createdAt);
      }),

    createClient: (client) =>
      writer.write(() => {
        insertClient(client);
      }),

    async client(id) {
      const row = db.query<ClientRow, [string]>("select * from client where id = ?").get(id);
      return row ? clientRecord(row) : undefined;
    },

    async clients(teamId) {
      const rows = db.query<ClientRow, [string]>("select * from client where team_id = ? order by created_at, id").all(teamId);
      return rows.map(clientRecord);
    },

    touchClient: (id, lastUsedAt) =>
      writer.write(() => {
        db.query("update client set last_used_at = ? where id = ?").run(lastUsedAt, id);
      }),

    deleteClient: (id) =>
      writer.write(() => {
        if (db.query("delete from client where id = ?").run(id).changes !== 1) return undefined;
        db.query("delete from entry where client_id = ?").run(id);
        db.query("update login_session set state = 'denied' where state = 'confirmed' and confirmed_by = ?").run(id);
        return db.query("delete from browser_session where client_id = ?").run(id).changes;
      }),

    createLoginSession: (session: LoginSessionRecord) =>
      writer.write(() => {
        db.query("delete from login_session where expires_at < ?").run(session.createdAt - EXPIRED_KEPT_MS);
        db.query(
          `insert into login_session (id, secret_hash, device_name, address, user_code, state, permissions, created_at, expires_at)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(
          session.id,
          session.secretHash,
          session.deviceName,
          session.address,
          session.userCode,
          session.state,
          JSON.stringify(session.permissions),
          session.createdAt,
          session.expiresAt,
        );
      }),

    async loginSession(id) {
      const row = db.query<LoginSessionRow, [string]>("select * from login_session where id = ?").get(id);
      if (!row) return undefined;
      return {
        id: row.id,
        secretHash: row.secret_hash,
        deviceName: row.device_name,
        address: row.address,
        userCode: row.user_code,
        state: row.state,
        permissions: JSON.parse(row.permissions) as string[],
        createdAt: row.created_at,
        expiresAt: row.expires_at,
      };
    },

    async pendingLoginSessions(address, now) {
      const counted = db
        .query<{ all: number; ofAddress: number }, [string, number]>(
          `select count(*) as "all", count(*) filter (where address = ?) as ofAddress from login_session where state = 'pending' and expires_at > ?`,
        )
        .get(address, now);
      return counted ?? { all: 0, ofAddress: 0 };
    },

    decideLoginSession: (id, { state, by, permissions }, now) =>
      writer.write(() => {
        const result = db
          .query(
            "update login_session set state = ?, permissions = ?, confirmed_by = ? where id = ? and state = 'pending' and expires_at > ?",
          )
          .run(state, JSON.stringify(permissions), by, id, now);
        return result.changes === 1;
      }),

    takeLoginSession: (id, client, now) =>
      writer.write(() => {
        const result = db
          .query("update login_session set state = 'taken' where id = ? and state = 'confirmed' and expires_at > ?")
          .run(id, now);
        if (result.changes !== 1) return false;
        insertClient(client);
        return true;
      }),

    createUpload: (upload: UploadRecord) =>
      writer.write(() => {
        db.query("delete from upload where expires_at < ?").run(upload.createdAt - 86_400_000);
        db.query("insert into upload (id, sha256, size_bytes, created_at, expires_at) values (?, ?, ?, ?, ?)").run(
          upload.id,
          upload.sha256,
          upload.sizeBytes,
          upload.createdAt,
          upload.expiresAt,
        );
      }),

    async upload(id) {
      const row = db
        .query<UploadRecord, [string]>(
          "select id, sha256, size_bytes as sizeBytes, created_at as createdAt, expires_at as expiresAt from upload where id = ?",
        )
        .get(id);
      return row ?? undefined;
    },
  };
}

function clientRecord(row: ClientRow): ClientRecord {
  return {
    id: row.id,
    teamId: row.team_id,
    name: row.name,
    secretHash: row.secret_hash,
    permissions: JSON.parse(row.permissions) as string[],
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
  };
}
