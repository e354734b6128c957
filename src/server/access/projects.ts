/**
 * Projects: which of them a folder is deployed to, and the making of projects and environments. A
 * folder's deployments go to the project of the folder's name and to no other, so that two projects
 * never overwrite each other.
 */

import type { Clock } from "../../context/clock.ts";
import { didYouMean } from "../../domain/closest.ts";
import { allows } from "../../domain/permissions.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { ProjectRecord } from "../stores/metadata/projects.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { DEFAULT_ENVIRONMENT, DEFAULT_PROJECT, type Environments, standInFor } from "./environments.ts";
import { limitedToEnvironments, mayReach, noProject, type ScopeNames } from "./scope.ts";
import type { Caller } from "./tokens.ts";

/** A folder that is deployed. */
export interface Folder {
  /** The project's name; empty = that of the environment, whichever it is. */
  readonly projectName: string;
  /** Environments that its project file names. */
  readonly environmentNames: readonly string[];
}

/** The place of a folder's deployment. */
export interface Placement {
  /** Undefined when it does not exist yet. */
  readonly project: ProjectRecord | undefined;
  /** Undefined when it does not exist yet. */
  readonly environment: EnvironmentRecord | undefined;
  readonly environmentName: string;
}

/** The projects of a server. */
export interface Projects {
  /** Projects of a team, by name. */
  list(teamId: string): Promise<ProjectRecord[]>;
  /**
   * Creates a project; without names of environments it has one, `default`. Rejects with Failure
   * invalid_argument, already_exists or resource_exhausted.
   */
  create(teamId: string, name: string, environments: readonly string[]): Promise<ProjectRecord>;
  /**
   * Adds an environment to the project of an id or name; empty = the team's oldest. Rejects with
   * Failure invalid_argument, not_found, already_exists or resource_exhausted.
   */
  addEnvironment(teamId: string, project: string, name: string): Promise<EnvironmentRecord>;
  /**
   * Where a folder would be deployed: to the project of its name; else to the project `default`, as
   * long as nothing was deployed there; else to a project that is yet to be made. Rejects with
   * Failure failed_precondition when the scope's environment is of another project, and not_found
   * when there is neither such an environment nor a name of it in the project file; with
   * permission_denied when the caller is kept from it.
   */
  place(caller: Caller, scope: ScopeNames, folder: Folder): Promise<Placement>;
  /**
   * The environment that a folder is deployed to. Makes what `place` says is missing, and all other
   * environments of the project file; the project `default` is renamed when its first folder comes.
   * Rejects like `place`, and with Failure permission_denied when a project has to be made and the
   * caller lacks settings.write. Credentials that are limited to some environments make none.
   */
  settle(caller: Caller, scope: ScopeNames, folder: Folder): Promise<EnvironmentRecord>;
}

const MAX_NAME_LENGTH = 200;
const MAX_PROJECTS = 1_000;
const MAX_ENVIRONMENTS = 200;

/** Throws Failure invalid_argument for a name that a project or environment cannot have. */
export function checkName(noun: "project" | "environment", name: string): void {
  const prefix = noun === "project" ? "prj_" : "env_";
  const isWrong = name === "" || name.length > MAX_NAME_LENGTH || name.trim() !== name || /[\p{Cc}\p{Cf}]/u.test(name);
  if (!isWrong && !name.startsWith(prefix)) return;
  throw new Failure(
    "invalid_argument",
    `The name of ${noun === "project" ? "a" : "an"} ${noun} cannot be ${JSON.stringify(name.slice(0, 50))}.`,
    {
      hint: isWrong
        ? `A name has 1 to ${MAX_NAME_LENGTH} characters, none of them control characters, and no space at its ends.`
        : `What begins with '${prefix}' is an id.`,
    },
  );
}

/** Makes the projects of a server. */
export function createProjects({
  metadata,
  environments,
  bus,
  clock,
}: {
  readonly metadata: MetadataStore;
  readonly environments: Environments;
  readonly bus: Bus;
  readonly clock: Clock;
}): Projects {
  const changed = (id = ""): void => {
    environments.invalidate();
    bus.publish("environments", id);
  };
  const named = (projects: readonly ProjectRecord[], wanted: string) =>
    projects.find(({ id }) => id === wanted) ?? projects.find(({ name }) => name === wanted);

  const create: Projects["create"] = async (teamId, name, wanted) => {
    const names = wanted.length > 0 ? [...new Set(wanted)] : [DEFAULT_ENVIRONMENT];
    checkName("project", name);
    for (const environment of names) checkName("environment", environment);
    if (names.length > MAX_ENVIRONMENTS) throw tooMany("environments of a project", MAX_ENVIRONMENTS);
    if ((await metadata.projects(teamId)).length >= MAX_PROJECTS) throw tooMany("projects", MAX_PROJECTS);
    const now = clock.now();
    const project = { id: newId("prj", now), teamId, name, createdAt: now };
    const made = names.map((environment) => ({ id: newId("env", now), name: environment }));
    if ((await metadata.createProject(project, made)) === "taken") throw taken("project", name);
    changed();
    return { ...project, environments: names, isUntouched: true };
  };

  const add = async (project: ProjectRecord, name: string): Promise<EnvironmentRecord> => {
    checkName("environment", name);
    if (project.environments.length >= MAX_ENVIRONMENTS) throw tooMany("environments of a project", MAX_ENVIRONMENTS);
    const now = clock.now();
    const environment = { id: newId("env", now), name, projectId: project.id, createdAt: now };
    if ((await metadata.createEnvironment(environment)) === "taken") throw taken("environment", name);
    changed(environment.id);
    return { ...environment, projectName: project.name, teamId: project.teamId };
  };

  const placeOf: Projects["place"] = async ({ teamId }, scope, { projectName, environmentNames }) => {
    const projects = await metadata.projects(teamId);
    const wanted = projectName || scope.project;
    const byId =
      scope.environment === "" ? undefined : await metadata.findEnvironment({ teamId, project: "", environment: scope.environment });
    if (wanted === "" || byId?.id === scope.environment) {
      const environment = await environments.find({ teamId, project: "", environment: scope.environment });
      const project = environment && named(projects, environment.projectId);
      if (!environment || !project)
        throw noEnvironment(
          scope.environment || DEFAULT_ENVIRONMENT,
          projects.flatMap((one) => one.environments),
        );
      if (wanted !== "" && project.name !== wanted && project.id !== wanted && standInFor(projects, wanted)?.id !== project.id)
        throw otherProject(environment, wanted);
      return { project, environment, environmentName: environment.name };
    }
    const project = named(projects, wanted) ?? standInFor(projects, wanted);
    const environment = project && (await environments.find({ teamId, project: project.id, environment: scope.environment }));
    if (environment) return { project, environment, environmentName: environment.name };
    const first = environmentNames.includes(DEFAULT_ENVIRONMENT) ? DEFAULT_ENVIRONMENT : (environmentNames[0] ?? DEFAULT_ENVIRONMENT);
    const environmentName = scope.environment || first;
    if (scope.environment !== "" && !environmentNames.includes(environmentName))
      throw noEnvironment(environmentName, [...(project?.environments ?? []), ...environmentNames]);
    return { project, environment: undefined, environmentName };
  };

  const place: Projects["place"] = async (caller, scope, folder) => {
    const placement = await placeOf(caller, scope, folder);
    const { environment, environmentName } = placement;
    if (caller.environments && !(environment && mayReach(caller, environment)))
      throw limitedToEnvironments(`the environment '${environmentName}'`);
    return placement;
  };

  return {
    list: (teamId) => metadata.projects(teamId),
    create,

    async addEnvironment(teamId, wanted, name) {
      const projects = await metadata.projects(teamId);
      const oldest = projects.toSorted((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))[0];
      const project = wanted === "" ? oldest : (named(projects, wanted) ?? standInFor(projects, wanted));
      if (!project) throw noProject(wanted);
      return add(project, name);
    },

    place,

    async settle(caller, scope, folder) {
      for (;;) {
        const placement = await place(caller, scope, folder);
        const { environment, environmentName } = placement;
        let { project } = placement;
        const wanted = folder.projectName || scope.project;
        try {
          if (!project) {
            if (!allows(caller.permissions, "settings.write")) throw mayNotCreate(wanted);
            await create(caller.teamId, wanted, folder.environmentNames.length > 0 ? folder.environmentNames : [environmentName]);
            continue;
          }
          if (
            project.isUntouched &&
            project.name === DEFAULT_PROJECT &&
            wanted !== "" &&
            wanted !== project.name &&
            wanted !== project.id
          ) {
            checkName("project", wanted);
            if (!(await metadata.claimProject(project.id, project.name, wanted))) continue;
            changed();
            project = { ...project, name: wanted };
          }
          const missing = new Set(environment ? folder.environmentNames : [environmentName, ...folder.environmentNames]);
          if (caller.environments) missing.clear();
          for (const name of missing) if (!project.environments.includes(name)) await add(project, name);
          if (environment) return { ...environment, projectName: project.name };
        } catch (error) {
          // Somebody else has made it meanwhile: then it is there in the next round.
          if (!(error instanceof Failure) || error.kind !== "already_exists") throw error;
        }
      }
    },
  };
}

function tooMany(things: string, most: number): Failure {
  return new Failure("resource_exhausted", `There are ${most} ${things} already, which is the most.`);
}

function taken(noun: "project" | "environment", name: string): Failure {
  return new Failure("already_exists", `There is ${noun === "project" ? "a" : "an"} ${noun} '${name}' already.`, {
    hint: `\`svc ${noun} list\` shows all.`,
  });
}

function noEnvironment(name: string, names: readonly string[]): Failure {
  return new Failure("not_found", `There is no environment '${name}'.`, {
    hint: didYouMean(name, names) || "Name it below `environments:` in svc.yaml, or make it with `svc environment create`.",
  });
}

function otherProject({ id, name, projectName }: EnvironmentRecord, wanted: string): Failure {
  return new Failure(
    "failed_precondition",
    `Environment '${name}' (${id}) is of project '${projectName}', and what is deployed is project '${wanted}'.`,
    {
      hint: "Name an environment of the folder's own project with --environment or SVC_ENVIRONMENT, or none; `svc environment list` shows all.",
    },
  );
}

function mayNotCreate(name: string): Failure {
  return new Failure(
    "permission_denied",
    `There is no project '${name}' yet, and the credentials lack the permission 'settings.write' to make it.`,
    {
      hint: `Somebody who has it can run \`svc project create ${JSON.stringify(name)}\`.`,
    },
  );
}
