/** Projects, and the life of their environments: made, renamed, suspended, removed. */

import type { EnvironmentRecord } from "./identity.ts";
import type { NewJob } from "./jobs.ts";

/** A project. */
export interface ProjectRecord {
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  readonly createdAt: number;
  /** Names of its environments, oldest first; at least one. */
  readonly environments: readonly string[];
  /** Whether nothing was ever deployed to any of its environments. */
  readonly isUntouched: boolean;
}

/** An environment to be created with its project. */
export type NewEnvironment = Pick<EnvironmentRecord, "id" | "name">;

/** What an environment holds. */
export interface EnvironmentContents {
  readonly deployments: number;
  readonly branches: readonly string[];
  /** Ids of its features and relations in the online and offline store. */
  readonly featureIds: readonly number[];
  /** Documents of its scope. */
  readonly settings: number;
  readonly datasets: number;
  /** SHA-256 digests of bundles that no other environment uses. */
  readonly bundles: readonly string[];
  /** Whether its project has no other environment. */
  readonly isLastOfProject: boolean;
}

/** Projects and their environments. Every method is one atomic step. */
export interface ProjectStore {
  /** Projects of a team that have environments, by name. */
  projects(teamId: string): Promise<ProjectRecord[]>;
  /**
   * Stores a project with its environments. Returns `taken`, and stores nothing, when its name is
   * in use.
   */
  createProject(
    project: Pick<ProjectRecord, "id" | "teamId" | "name" | "createdAt">,
    environments: readonly NewEnvironment[],
  ): Promise<"created" | "taken">;
  /**
   * Gives a project to which nothing was deployed another name; false, and nothing is changed, when
   * something was, its name is no longer the old one, or the new one is in use.
   */
  claimProject(id: string, oldName: string, newName: string): Promise<boolean>;
  /**
   * Adds an environment to a project. Returns `taken`, and adds nothing, when its name is in use
   * there.
   */
  createEnvironment(environment: Pick<EnvironmentRecord, "id" | "name" | "projectId" | "createdAt">): Promise<"created" | "taken">;
  /**
   * Renames an environment. Returns `taken`, and changes nothing, when the name is in use in its
   * project.
   */
  renameEnvironment(id: string, name: string): Promise<"renamed" | "taken" | "missing">;
  /**
   * Suspends an environment, or with undefined resumes it; false when it was in that state already,
   * and then the time stays, or when it is gone.
   */
  suspendEnvironment(id: string, suspendedAt: number | undefined): Promise<boolean>;
  /** What an environment holds, also after it was removed and before it is erased. */
  contents(id: string): Promise<EnvironmentContents>;
  /**
   * Removes an environment from every list and look-up, with its live pointers and documents, and
   * stores the job that erases the rest; its name is free, and that of its project if it was the
   * last one there. Returns `last`, and changes nothing, for the only environment of the store.
   */
  removeEnvironment(id: string, now: number, erasure: NewJob): Promise<"removed" | "last" | "missing">;
  /** Deletes the rows of a removed environment, and its project when that has no other. */
  eraseEnvironment(id: string): Promise<void>;
}
