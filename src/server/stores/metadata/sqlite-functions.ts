import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { bytes, integer, rowCodec, text } from "../sqlite/row-codec.ts";
import type { FunctionStore, FunctionVersionRecord, PlacedFunction } from "./functions.ts";

/** The newest deployment of a branch that has a version, of those that were not deleted. */
const NEWEST = `coalesce((select d.id from function_placement p join deployment d on d.id = p.deployment_id
  where p.function_id = f.id and p.branch = ?1 order by d.seq desc limit 1), '') as deployment_id`;
const IS_PLACED = "exists (select 1 from function_placement p where p.function_id = f.id and p.branch = ?1)";

/** The versions of functions of the SQLite backend. */
export function sqliteFunctions(db: Database, writer: Writer): FunctionStore {
  const version = { id: text, environmentId: text, name: text, version: integer, fingerprint: text, definition: bytes, createdAt: integer };
  const versions = rowCodec<FunctionVersionRecord>("function_version", version);
  const placed = rowCodec<PlacedFunction>("function_version", { ...version, deploymentId: text });
  const select = (clauses: string, branch: string, ...values: readonly (string | number | null)[]): PlacedFunction[] =>
    db
      .query<object, (string | number | null)[]>(`select f.*, ${NEWEST} from function_version f where ${IS_PLACED} and ${clauses}`)
      .all(branch, ...values)
      .map(placed.record);
  const known = (environmentId: string, name: string, fingerprint: string): { readonly id: string } | undefined =>
    db
      .query<{ id: string }, [string, string, string]>(
        "select id from function_version where environment_id = ? and name = ? and fingerprint = ?",
      )
      .get(environmentId, name, fingerprint) ?? undefined;
  const next = (environmentId: string, name: string): number =>
    db
      .query<{ next: number }, [string, string]>(
        "select coalesce(max(version), 0) + 1 as next from function_version where environment_id = ? and name = ?",
      )
      .get(environmentId, name)?.next ?? 1;

  return {
    place: (deployment, functions, newId, now) =>
      writer.write(() => {
        for (const one of functions) {
          const { environmentId, branch } = deployment;
          let id = known(environmentId, one.name, one.fingerprint)?.id;
          if (id === undefined) {
            id = newId();
            const record = { ...one, id, environmentId, version: next(environmentId, one.name), createdAt: now };
            db.query(versions.insert).run(versions.parameters(record));
          }
          db.query(
            "insert into function_placement (deployment_id, function_id, environment_id, branch) values (?, ?, ?, ?) on conflict do nothing",
          ).run(deployment.id, id, environmentId, branch);
        }
      }),

    async ofDeployment(deploymentId) {
      return db
        .query<object, [string]>(
          `select f.*, p.deployment_id from function_version f join function_placement p on p.function_id = f.id
           where p.deployment_id = ? order by f.name`,
        )
        .all(deploymentId)
        .map(placed.record);
    },

    async byId(id, environmentId, branch) {
      return select("f.id = ?2 and f.environment_id = ?3", branch, id, environmentId)[0];
    },

    async byVersion(environmentId, branch, name, number) {
      return select("f.environment_id = ?2 and f.name = ?3 and f.version = ?4", branch, environmentId, name, number)[0];
    },

    async list({ environmentId, branch, name, before, limit }) {
      return select(
        `f.environment_id = ?2 and (?3 is null or f.name = ?3)
           and (?4 is null or f.seq < (select seq from function_version where id = ?4)) order by f.seq desc limit ?5`,
        branch,
        environmentId,
        name ?? null,
        before ?? null,
        limit,
      );
    },
  };
}
