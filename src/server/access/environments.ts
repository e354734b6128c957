/** A cache of environments, because every query looks one up. */

import type { EnvironmentName, EnvironmentRecord, IdentityStore } from "../stores/metadata/identity.ts";
import type { ProjectRecord, ProjectStore } from "../stores/metadata/projects.ts";

/** Name of the environment that a request without one means. */
export const DEFAULT_ENVIRONMENT = "default";
/** Name of the project that a first start makes. */
export const DEFAULT_PROJECT = "default";

const MOST_REMEMBERED = 10_000;

/** The environments of a server. */
export interface Environments {
  /**
   * The environment of a name or id, without a promise when it is remembered; undefined when there
   * is none. An empty name means the environment `default`, else the oldest. Without a project the
   * oldest project with such an environment is meant; for a project that does not exist, the one of
   * `standInFor`.
   */
  find(wanted: EnvironmentName): EnvironmentRecord | undefined | Promise<EnvironmentRecord | undefined>;
  /**
   * Environments of a team, sorted by name; with the id or name of a project, only those of the
   * project.
   */
  list(teamId: string, project?: string): Promise<EnvironmentRecord[]>;
  /** Forgets all environments. To be called on every node when one is added, renamed or removed. */
  invalidate(): void;
}

/**
 * The project that takes the name of a project which does not exist: `default`, as long as nothing
 * was ever deployed there. Undefined when the name exists, or there is no such project.
 */
export function standInFor(projects: readonly ProjectRecord[], wanted: string): ProjectRecord | undefined {
  if (projects.some(({ id, name }) => id === wanted || name === wanted)) return undefined;
  return projects.find(({ name, isUntouched }) => name === DEFAULT_PROJECT && isUntouched);
}

function byAge(one: EnvironmentRecord, other: EnvironmentRecord): number {
  return one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1);
}

/**
 * The environment that is meant when none is named, in a project, or with an empty one in a team.
 */
export async function primaryEnvironment(
  metadata: Pick<IdentityStore, "environments" | "findEnvironment">,
  { teamId, project = "" }: { readonly teamId: string; readonly project?: string },
): Promise<EnvironmentRecord | undefined> {
  const found = await metadata.findEnvironment({ teamId, project, environment: DEFAULT_ENVIRONMENT });
  return found ?? (await environmentsOf(metadata, teamId, project)).sort(byAge)[0];
}

async function environmentsOf(metadata: Pick<IdentityStore, "environments">, teamId: string, project = ""): Promise<EnvironmentRecord[]> {
  return (await metadata.environments(teamId)).filter(
    ({ projectId, projectName }) => project === "" || projectId === project || projectName === project,
  );
}

/** Makes the environments of a server. */
export function createEnvironments(
  metadata: Pick<IdentityStore, "environments" | "findEnvironment"> & Pick<ProjectStore, "projects">,
): Environments {
  let remembered = new Map<string, EnvironmentRecord>();

  const findIn = (wanted: EnvironmentName): Promise<EnvironmentRecord | undefined> =>
    wanted.environment === "" ? primaryEnvironment(metadata, wanted) : metadata.findEnvironment(wanted);

  const findStored = async (wanted: EnvironmentName): Promise<EnvironmentRecord | undefined> => {
    const found = await findIn(wanted);
    if (found || wanted.project === "") return found;
    const instead = standInFor(await metadata.projects(wanted.teamId), wanted.project);
    return instead && findIn({ ...wanted, project: instead.id });
  };

  const load = async (wanted: EnvironmentName, key: string): Promise<EnvironmentRecord | undefined> => {
    const table = remembered;
    const found = await findStored(wanted);
    if (found && table.size < MOST_REMEMBERED) table.set(key, found);
    return found;
  };

  return {
    find(wanted) {
      const key = `${wanted.teamId}/${wanted.project.length}/${wanted.project}${wanted.environment}`;
      return remembered.get(key) ?? load(wanted, key);
    },
    list: (teamId, project) => environmentsOf(metadata, teamId, project),
    invalidate() {
      remembered = new Map();
    },
  };
}
