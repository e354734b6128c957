/**
 * Environments as requests see them: whoever was found is remembered, because every query asks for
 * its environment.
 */

import type { EnvironmentName, EnvironmentRecord, IdentityStore } from "../stores/metadata/identity.ts";

/** Name of the environment that is meant when none is named. */
export const DEFAULT_ENVIRONMENT = "default";

const MOST_REMEMBERED = 10_000;

/** The environments of a server. */
export interface Environments {
  /**
   * The environment of a name; at once when it is remembered. An empty name means the one that is
   * called `default`, or else the first by name.
   */
  find(wanted: EnvironmentName): EnvironmentRecord | undefined | Promise<EnvironmentRecord | undefined>;
  /** Environments of a team, by name; with the id or name of a project, those of it. */
  list(teamId: string, project?: string): Promise<EnvironmentRecord[]>;
  /**
   * Makes the next request look again. Whoever adds, renames or removes an environment calls it, on
   * every node.
   */
  invalidate(): void;
}

/** Makes the environments of a server. */
export function createEnvironments(metadata: Pick<IdentityStore, "environments" | "findEnvironment">): Environments {
  let remembered = new Map<string, EnvironmentRecord>();

  const list = async (teamId: string, project = ""): Promise<EnvironmentRecord[]> =>
    (await metadata.environments(teamId)).filter(
      ({ projectId, projectName }) => project === "" || projectId === project || projectName === project,
    );

  const look = async (wanted: EnvironmentName): Promise<EnvironmentRecord | undefined> => {
    if (wanted.environment !== "") return metadata.findEnvironment(wanted);
    const found = await metadata.findEnvironment({ ...wanted, environment: DEFAULT_ENVIRONMENT });
    return found ?? (await list(wanted.teamId, wanted.project))[0];
  };

  const load = async (wanted: EnvironmentName, key: string): Promise<EnvironmentRecord | undefined> => {
    const asked = remembered;
    const found = await look(wanted);
    if (found && asked.size < MOST_REMEMBERED) asked.set(key, found);
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
