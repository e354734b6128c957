/**
 * The scope of a request: its environment, branch and deployment, from the headers that the
 * client's transport sets. It is resolved here only.
 */

import { didYouMean } from "../../domain/closest.ts";
import { whenThere } from "../at-once.ts";
import { Failure } from "../failure.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import { DEFAULT_ENVIRONMENT, type Environments } from "./environments.ts";
import type { Caller } from "./tokens.ts";

/** Headers that carry the scope. */
export const SCOPE_HEADERS = {
  environment: "svc-environment",
  branch: "svc-branch",
  deployment: "svc-deployment",
  project: "svc-project",
} as const;

/** The scope as a request names it: names or ids, empty = not given. */
export interface ScopeNames {
  readonly environment: string;
  readonly branch: string;
  readonly deployment: string;
  readonly project: string;
}

/** The deployment that a request is about. */
export interface DeploymentTarget {
  readonly environment: EnvironmentRecord;
  /** Empty = the environment's own. */
  readonly branch: string;
  /** Empty = the live deployment of the branch or environment. */
  readonly deploymentId: string;
}

/** The scope that a request's headers name. Throws Failure not_found or invalid_argument. */
export function resolveScope(environments: Environments, caller: Caller, headers: Headers): DeploymentTarget | Promise<DeploymentTarget> {
  return resolveNames(environments, caller, scopeNames(headers));
}

/** The scope that a request's headers name, not looked up. */
export function scopeNames(headers: Headers): ScopeNames {
  return {
    environment: scopeHeader(headers, "environment"),
    branch: scopeHeader(headers, "branch"),
    deployment: scopeHeader(headers, "deployment"),
    project: scopeHeader(headers, "project"),
  };
}

/** One part of the scope from a request's headers; empty = not given. */
export function scopeHeader(headers: Headers, part: keyof ScopeNames): string {
  return decode(headers.get(SCOPE_HEADERS[part]) ?? "");
}

/**
 * The scope of the given names. An environment is given by name or id; a project limits the names
 * to its own. Throws Failure not_found or invalid_argument.
 */
export function resolveNames(
  environments: Environments,
  caller: Caller,
  { environment: name, branch, deployment, project }: ScopeNames,
): DeploymentTarget | Promise<DeploymentTarget> {
  const { teamId } = caller;
  return whenThere(environments.find({ teamId, project, environment: name }), (found) => {
    const environment = found && mayReach(caller, found) ? found : undefined;
    if (environment) return { environment, branch: checkBranch(branch), deploymentId: deployment };
    if (caller.environments) return ownEnvironment(environments, caller, name, project, branch, deployment);
    return noEnvironment(name, project, environments.list(teamId, project));
  });
}

/** Whether an environment is one that a caller is not kept from. */
export function mayReach({ environments }: Caller, { id }: EnvironmentRecord): boolean {
  return environments === undefined || environments.includes(id);
}

/**
 * The scope of credentials that are limited to some environments and reach none by the name: the
 * first of theirs when they name none. Rejects with a Failure permission_denied that is the same
 * whether there is an environment of the name or not.
 */
async function ownEnvironment(
  environments: Environments,
  caller: Caller,
  name: string,
  project: string,
  branch: string,
  deploymentId: string,
): Promise<DeploymentTarget> {
  const own = await visibleEnvironments(environments, caller, project);
  const environment = own.find((one) => (name === "" || one.name === name) && mayReach(caller, one));
  if (environment) return { environment, branch: checkBranch(branch), deploymentId };
  const names = own.map((one) => one.name).join(", ") || "none of those there are";
  throw limitedToEnvironments(`the environment '${name || DEFAULT_ENVIRONMENT}'`, names);
}

/**
 * The environments of a team that a caller may know of, sorted by name; with the id or name of a
 * project, only those of the project.
 */
export async function visibleEnvironments(environments: Environments, caller: Caller, project = ""): Promise<EnvironmentRecord[]> {
  return (await environments.list(caller.teamId, project)).filter((one) => mayReach(caller, one));
}

/**
 * Refuses a call about the whole team to a caller that is limited to some environments. Throws
 * Failure permission_denied.
 */
export function requireWholeTeam({ environments }: Caller, what: string): void {
  if (environments) throw limitedToEnvironments(what);
}

/** Why credentials that are limited to some environments cannot reach `what`. */
export function limitedToEnvironments(what: string, names?: string): Failure {
  return new Failure("permission_denied", `The credentials are limited to some environments, and do not reach ${what}.`, {
    hint: names === undefined ? "Use credentials that are not limited." : `They reach: ${names}.`,
  });
}

/** Rejects with a Failure not_found that lists the environments there are. */
async function noEnvironment(wanted: string, project: string, there: Promise<readonly EnvironmentRecord[]>): Promise<never> {
  const names = (await there).map(({ name }) => name);
  if (project !== "" && names.length === 0) throw noProject(project);
  const named = wanted || DEFAULT_ENVIRONMENT;
  throw new Failure("not_found", `There is no environment '${named}'.`, {
    hint: didYouMean(named, names) || (names.length > 0 ? `There is: ${names.join(", ")}.` : "This server has no environments."),
  });
}

/** The failure of a call for a project that does not exist. */
export function noProject(name: string): Failure {
  return new Failure("not_found", `There is no project '${name}' on this server.`, {
    hint: "`svc apply` in the project's folder creates it; `svc project list` shows what there is.",
  });
}

/** A branch's name as it was given. Throws Failure invalid_argument when it cannot be one. */
export function checkBranch(name: string): string {
  if (name.length > 200) throw new Failure("invalid_argument", "A branch name has at most 200 characters.");
  if (/[\p{Cc}\p{Cf}]/u.test(name)) throw new Failure("invalid_argument", "A branch name may not have control characters.");
  return name;
}

/** The value of a header, which is ASCII: other names come percent-encoded. */
function decode(value: string): string {
  if (!value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
