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
  { teamId }: Caller,
  { environment: name, branch, deployment, project }: ScopeNames,
): DeploymentTarget | Promise<DeploymentTarget> {
  return whenThere(environments.find({ teamId, project, environment: name }), (environment) =>
    environment
      ? { environment, branch: checkBranch(branch), deploymentId: deployment }
      : noEnvironment(name, project, environments.list(teamId, project)),
  );
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
