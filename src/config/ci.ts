/**
 * The origin of a deployment: the CI job and the repository, from the environment variables of
 * common CI systems, else from `git remote`.
 */

import type { Surroundings } from "../context/machine.ts";

/** Addresses of the job and the repository; undefined when not known. */
export interface CiFacts {
  /** Name of the CI system, for messages. */
  readonly system: string | undefined;
  readonly jobUrl: string | undefined;
  readonly repositoryUrl: string | undefined;
}

type Env = Surroundings["env"];

interface CiSystem {
  readonly name: string;
  detect(env: Env): boolean;
  job(env: Env): string | undefined;
  repository(env: Env): string | undefined;
}

const SYSTEMS: readonly CiSystem[] = [
  {
    name: "GitHub Actions",
    detect: (env) => env.GITHUB_ACTIONS === "true",
    job: (env) => {
      const run = join(join(env.GITHUB_SERVER_URL, env.GITHUB_REPOSITORY), env.GITHUB_RUN_ID && `actions/runs/${env.GITHUB_RUN_ID}`);
      return run && env.GITHUB_RUN_ATTEMPT && env.GITHUB_RUN_ATTEMPT !== "1" ? `${run}/attempts/${env.GITHUB_RUN_ATTEMPT}` : run;
    },
    repository: (env) => join(env.GITHUB_SERVER_URL, env.GITHUB_REPOSITORY),
  },
  {
    name: "GitLab CI",
    detect: (env) => env.GITLAB_CI === "true",
    job: (env) => env.CI_JOB_URL ?? env.CI_PIPELINE_URL,
    repository: (env) => env.CI_PROJECT_URL ?? env.CI_REPOSITORY_URL,
  },
  {
    name: "CircleCI",
    detect: (env) => env.CIRCLECI === "true",
    job: (env) => env.CIRCLE_BUILD_URL,
    repository: (env) => env.CIRCLE_REPOSITORY_URL,
  },
  {
    name: "Buildkite",
    detect: (env) => env.BUILDKITE === "true",
    job: (env) =>
      env.BUILDKITE_BUILD_URL && env.BUILDKITE_JOB_ID ? `${env.BUILDKITE_BUILD_URL}#${env.BUILDKITE_JOB_ID}` : env.BUILDKITE_BUILD_URL,
    repository: (env) => env.BUILDKITE_REPO,
  },
  {
    name: "Azure Pipelines",
    detect: (env) => /^true$/i.test(env.TF_BUILD ?? ""),
    job: (env) =>
      join(
        join(env.SYSTEM_TEAMFOUNDATIONCOLLECTIONURI ?? env.SYSTEM_COLLECTIONURI, encode(env.SYSTEM_TEAMPROJECT)),
        env.BUILD_BUILDID && `_build/results?buildId=${env.BUILD_BUILDID}`,
      ),
    repository: (env) => env.BUILD_REPOSITORY_URI,
  },
  {
    name: "Bitbucket Pipelines",
    detect: (env) => env.BITBUCKET_BUILD_NUMBER !== undefined,
    job: (env) => join(bitbucket(env), env.BITBUCKET_BUILD_NUMBER && `pipelines/results/${env.BITBUCKET_BUILD_NUMBER}`),
    repository: bitbucket,
  },
  {
    name: "Jenkins",
    detect: (env) => env.JENKINS_URL !== undefined,
    job: (env) => env.RUN_DISPLAY_URL ?? env.BUILD_URL,
    repository: (env) => env.GIT_URL ?? env.GIT_URL_1,
  },
  {
    name: "CI",
    detect: (env) => env.CI !== undefined && !/^(false|0|)$/i.test(env.CI),
    job: (env) => env.CI_JOB_URL ?? env.CI_BUILD_URL ?? env.BUILD_URL,
    repository: (env) => env.CI_REPOSITORY_URL ?? env.REPOSITORY_URL ?? env.GIT_URL,
  },
];

/**
 * The facts in the environment. Malformed addresses are left out, and credentials in addresses are
 * removed.
 */
export function detectCi(env: Env): CiFacts {
  const system = SYSTEMS.find((candidate) => candidate.detect(env));
  return {
    system: system?.name,
    jobUrl: webAddress(system?.job(env)),
    repositoryUrl: webAddress(system?.repository(env)),
  };
}

/**
 * The web address of a repository given in the form of git or a CI system:
 * `git@host:group/name.git` and `ssh://git@host/group/name` become `https://host/group/name`; user
 * names, passwords, queries and fragments that could contain tokens are dropped. Undefined for
 * paths and other texts that are not addresses. A job's fragment (`#job-id`) and query stay.
 */
export function webAddress(given: string | undefined): string | undefined {
  const text = given?.trim();
  if (!text) return undefined;
  const scp = /^(?:[^@/\s]+@)?([A-Za-z0-9.-]+\.[A-Za-z]{2,}):(?!\/\/)([^\s]+)$/.exec(text);
  const address = scp ? `https://${scp[1]}/${scp[2]}` : text;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (!["http:", "https:", "ssh:", "git:", "git+ssh:"].includes(url.protocol)) return undefined;
  const scheme = url.protocol === "http:" ? "http:" : "https:";
  const host = url.protocol === "http:" || url.protocol === "https:" ? url.host : url.hostname;
  if (!host) return undefined;
  for (const name of [...url.searchParams.keys()]) if (/token|secret|password|key|auth|sig/i.test(name)) url.searchParams.delete(name);
  return `${scheme}//${host}${url.pathname.replace(/\.git\/?$/, "").replace(/\/+$/, "")}${url.search}${url.hash}`;
}

function bitbucket(env: Env): string | undefined {
  return env.BITBUCKET_GIT_HTTP_ORIGIN ?? join("https://bitbucket.org", env.BITBUCKET_REPO_FULL_NAME);
}

function join(base: string | undefined, path: string | undefined): string | undefined {
  return base && path ? `${base.replace(/\/+$/, "")}/${path}` : undefined;
}

function encode(text: string | undefined): string | undefined {
  return text === undefined ? undefined : encodeURIComponent(text);
}
