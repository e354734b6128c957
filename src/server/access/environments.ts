/** A cache of environments, because every query looks one up. */

import type { EnvironmentName, EnvironmentRecord, IdentityStore } from "../stores/metadata/identity.ts";

/** Name of the environment that a request without one means. */
export const DEFAULT_ENVIRONMENT = "default";

const MOST_REMEMBERED = 10_000;

/** The environments of a server. */
export interface Environments {
  /**
   * The environment of a name or id, without a promise when it is remembered; undefined when there
   * is none. An empty name means the environment `default`, else the first by name.
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

/** Makes the environments of a server. */
export function createEnvironments(metadata: Pick<IdentityStore, "environments" | "findEnvironment">): Environments {
  let remembered = new Map<string, EnvironmentRecord>();

  const list = async (teamId: string, project = ""): Promise<EnvironmentRecord[]> =>
    (await metadata.environments(teamId)).filter(
      ({ projectId, projectName }) => project === "" || projectId === project || projectName === project,
    );

  const findStored = async (wanted: EnvironmentName): Promise<EnvironmentRecord | undefined> => {
    if (wanted.environment !== "") return metadata.findEnvironment(wanted);
    const found = await metadata.findEnvironment({ ...wanted, environment: DEFAULT_ENVIRONMENT });
    return found ?? (await list(wanted.teamId, wanted.project))[0];
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
    list,
    invalidate() {
      remembered = new Map();
    },
  };
}
