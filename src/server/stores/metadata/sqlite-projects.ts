import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import type { NewJob } from "./jobs.ts";
import type { ProjectRecord, ProjectStore } from "./projects.ts";

interface ProjectRow extends Omit<ProjectRecord, "environments" | "isUntouched"> {
  readonly environments: string;
  readonly isUntouched: number;
}

const UNTOUCHED = `not exists (select 1 from deployment d join environment e on e.id = d.environment_id
  where e.project_id = p.id and e.deleted_at is null)`;

/** Projects and the life of environments of the SQLite driver. */
export function sqliteProjects(db: Database, writer: Writer, insertJob: (job: NewJob) => void): ProjectStore {
  const isTaken = (teamId: string, name: string): boolean =>
    db.query("select 1 from project where team_id = ? and name = ?").get(teamId, name) !== null;
  const isNameInUse = (projectId: string, name: string): boolean =>
    db.query("select 1 from environment where project_id = ? and name = ?").get(projectId, name) !== null;
  const insertEnvironment = (id: string, projectId: string, name: string, createdAt: number): void =>
    void db.query("insert into environment (id, project_id, name, created_at) values (?, ?, ?, ?)").run(id, projectId, name, createdAt);
  const countOf = (sql: string, ...values: string[]): number => db.query<{ n: number }, string[]>(sql).get(...values)?.n ?? 0;
  const listOf = <T>(sql: string, id: string): T[] =>
    db
      .query<{ one: T }, [string]>(sql)
      .all(id)
      .map(({ one }) => one);

  return {
    async projects(teamId) {
      return db
        .query<ProjectRow, [string]>(
          `select p.id, p.team_id as teamId, p.name, p.created_at as createdAt, ${UNTOUCHED} as isUntouched,
             (select json_group_array(e.name order by e.created_at, e.id) from environment e where e.project_id = p.id and e.deleted_at is null) as environments
           from project p where p.team_id = ? and exists (select 1 from environment e where e.project_id = p.id and e.deleted_at is null) order by p.name`,
        )
        .all(teamId)
        .map((row) => ({ ...row, isUntouched: row.isUntouched === 1, environments: JSON.parse(row.environments) as string[] }));
    },

    createProject: ({ id, teamId, name, createdAt }, environments) =>
      writer.write(() => {
        if (isTaken(teamId, name)) return "taken";
        db.query("insert into project (id, team_id, name, created_at) values (?, ?, ?, ?)").run(id, teamId, name, createdAt);
        for (const environment of environments) insertEnvironment(environment.id, id, environment.name, createdAt);
        return "created";
      }),

    claimProject: (id, oldName, newName) =>
      writer.write(() => {
        const free = db
          .query<{ teamId: string }, [string, string]>(
            `select p.team_id as teamId from project p where p.id = ? and p.name = ? and ${UNTOUCHED}`,
          )
          .get(id, oldName);
        if (!free || isTaken(free.teamId, newName)) return false;
        db.query("update project set name = ? where id = ?").run(newName, id);
        return true;
      }),

    createEnvironment: ({ id, projectId, name, createdAt }) =>
      writer.write(() => {
        if (isNameInUse(projectId, name)) return "taken";
        insertEnvironment(id, projectId, name, createdAt);
        return "created";
      }),

    renameEnvironment: (id, name) =>
      writer.write(() => {
        const found = db
          .query<{ projectId: string; name: string }, [string]>(
            "select project_id as projectId, name from environment where id = ? and deleted_at is null",
          )
          .get(id);
        if (!found) return "missing";
        if (found.name !== name && isNameInUse(found.projectId, name)) return "taken";
        db.query("update environment set name = ? where id = ?").run(name, id);
        return "renamed";
      }),

    suspendEnvironment: (id, suspendedAt) =>
      writer.write(
        () =>
          db
            .query(
              "update environment set suspended_at = ?2 where id = ?1 and deleted_at is null and (suspended_at is null) <> (?2 is null)",
            )
            .run(id, suspendedAt ?? null).changes === 1,
      ),

    async contents(id) {
      return {
        deployments: countOf("select count(*) as n from deployment where environment_id = ?", id),
        branches: listOf<string>("select distinct branch as one from deployment where environment_id = ? and branch <> '' order by 1", id),
        featureIds: listOf<number>("select id as one from feature where environment_id = ? order by 1", id),
        settings: countOf("select count(*) as n from document where scope = ?", id),
        datasets: countOf("select count(*) as n from dataset where environment_id = ?", id),
        bundles: listOf<string>(
          `select distinct source_sha256 as one from deployment d where environment_id = ?1
             and not exists (select 1 from deployment o where o.source_sha256 = d.source_sha256 and o.environment_id <> ?1)`,
          id,
        ),
        isLastOfProject:
          countOf(
            `select count(*) as n from environment where deleted_at is null and id <> ?1
               and project_id = (select project_id from environment where id = ?1)`,
            id,
          ) === 0,
      };
    },

    removeEnvironment: (id, now, erasure) =>
      writer.write(() => {
        const found = db
          .query<{ projectId: string }, [string]>("select project_id as projectId from environment where id = ? and deleted_at is null")
          .get(id);
        if (!found) return "missing";
        if (countOf("select count(*) as n from environment where deleted_at is null") === 1) return "last";
        db.query("update environment set deleted_at = ?2, name = id where id = ?1").run(id, now);
        if (countOf("select count(*) as n from environment where deleted_at is null and project_id = ?", found.projectId) === 0)
          db.query("update project set name = id where id = ?").run(found.projectId);
        db.query("delete from live where environment_id = ?").run(id);
        db.query("delete from document where scope = ?").run(id);
        insertJob(erasure);
        return "removed";
      }),

    eraseEnvironment: (id) =>
      writer.write(() => {
        const project = db
          .query<{ projectId: string }, [string]>("select project_id as projectId from environment where id = ? and deleted_at is not null")
          .get(id);
        if (!project) return;
        const itsDeployments = "(select id from deployment where environment_id = ?)";
        for (const table of ["deployment_tag", "graph", "deployment_progress"])
          db.query(`delete from ${table} where deployment_id in ${itsDeployments}`).run(id);
        db.query("delete from dataset_file where revision_id in (select id from dataset_revision where environment_id = ?)").run(id);
        for (const table of ["dataset_upload", "dataset_revision", "dataset"])
          db.query(`delete from ${table} where environment_id = ?`).run(id);
        db.query("delete from offline_query_shard where query_id in (select id from offline_query where environment_id = ?)").run(id);
        for (const table of [
          "live",
          "resolver_version",
          "feature",
          "deployment",
          "approval",
          "deletion",
          "resolver_run",
          "task",
          "notebook",
          "evaluation_run",
          "function_placement",
          "function_version",
          "function_call",
          "image_build_line",
          "image_build",
          "offline_query",
          "value_upload",
          "workflow",
          "incremental_progress",
          "monitor",
          "monitor_silence",
          "series",
        ])
          db.query(`delete from ${table} where environment_id = ?`).run(id);
        db.query("delete from document where scope = ?").run(id);
        db.query("delete from environment where id = ?").run(id);
        db.query("delete from project where id = ?1 and not exists (select 1 from environment where project_id = ?1)").run(
          project.projectId,
        );
      }),
  };
}
