import { describe, expect, test } from "bun:test";
import { detectCi, webAddress } from "../../src/config/ci.ts";

describe("CI systems", () => {
  const cases: [env: Record<string, string>, system: string | undefined, job: string | undefined, repository: string | undefined][] = [
    [{}, undefined, undefined, undefined],
    [
      {
        GITHUB_ACTIONS: "true",
        GITHUB_SERVER_URL: "https://github.com",
        GITHUB_REPOSITORY: "o/r",
        GITHUB_RUN_ID: "7",
        GITHUB_RUN_ATTEMPT: "2",
        CI: "true",
      },
      "GitHub Actions",
      "https://github.com/o/r/actions/runs/7/attempts/2",
      "https://github.com/o/r",
    ],
    [
      {
        GITLAB_CI: "true",
        CI_JOB_URL: "https://gitlab.com/g/p/-/jobs/1",
        CI_PROJECT_URL: "https://gitlab.com/g/p",
        CI_REPOSITORY_URL: "https://gitlab-ci-token:t0ken@gitlab.com/g/p.git",
      },
      "GitLab CI",
      "https://gitlab.com/g/p/-/jobs/1",
      "https://gitlab.com/g/p",
    ],
    [
      { GITLAB_CI: "true", CI_REPOSITORY_URL: "https://gitlab-ci-token:t0ken@gitlab.com/g/p.git" },
      "GitLab CI",
      undefined,
      "https://gitlab.com/g/p",
    ],
    [
      { CIRCLECI: "true", CIRCLE_BUILD_URL: "https://circleci.com/gh/o/r/1", CIRCLE_REPOSITORY_URL: "git@github.com:o/r.git" },
      "CircleCI",
      "https://circleci.com/gh/o/r/1",
      "https://github.com/o/r",
    ],
    [
      {
        BUILDKITE: "true",
        BUILDKITE_BUILD_URL: "https://buildkite.com/o/p/builds/1",
        BUILDKITE_JOB_ID: "abc",
        BUILDKITE_REPO: "ssh://git@git.example.com:2222/o/r.git",
      },
      "Buildkite",
      "https://buildkite.com/o/p/builds/1#abc",
      "https://git.example.com/o/r",
    ],
    [
      {
        TF_BUILD: "True",
        SYSTEM_COLLECTIONURI: "https://dev.azure.com/org/",
        SYSTEM_TEAMPROJECT: "my project",
        BUILD_BUILDID: "5",
        BUILD_REPOSITORY_URI: "https://org@dev.azure.com/org/p/_git/r",
      },
      "Azure Pipelines",
      "https://dev.azure.com/org/my%20project/_build/results?buildId=5",
      "https://dev.azure.com/org/p/_git/r",
    ],
    [
      { BITBUCKET_BUILD_NUMBER: "3", BITBUCKET_GIT_HTTP_ORIGIN: "http://bitbucket.org/o/r", CI: "true" },
      "Bitbucket Pipelines",
      "http://bitbucket.org/o/r/pipelines/results/3",
      "http://bitbucket.org/o/r",
    ],
    [
      { JENKINS_URL: "http://ci.example.com/", BUILD_URL: "http://ci.example.com/job/x/1/", GIT_URL: "https://me:pw@example.com/o/r.git" },
      "Jenkins",
      "http://ci.example.com/job/x/1",
      "https://example.com/o/r",
    ],
    [{ CI: "true", CI_BUILD_URL: "https://ci.example.com/1" }, "CI", "https://ci.example.com/1", undefined],
    [{ CI: "false", CI_BUILD_URL: "https://ci.example.com/1" }, undefined, undefined, undefined],
    [{ GITHUB_ACTIONS: "true" }, "GitHub Actions", undefined, undefined],
  ];
  for (const [env, system, job, repository] of cases) {
    test(`${system ?? "none"}: ${Object.keys(env).join(" ")}`, () => {
      expect(detectCi(env)).toEqual({ system, jobUrl: job, repositoryUrl: repository });
    });
  }
});

describe("repository addresses", () => {
  const cases: [given: string, shown: string | undefined][] = [
    ["git@github.com:group/sub/name.git", "https://github.com/group/sub/name"],
    ["ssh://git@example.com/x.git", "https://example.com/x"],
    ["git://example.com/x.git/", "https://example.com/x"],
    ["https://user:p%40ss@example.com:8443/x.git", "https://example.com:8443/x"],
    ["https://x-access-token:ghs_secret@github.com/o/r", "https://github.com/o/r"],
    ["https://example.com/x?private_token=abc&ref=main", "https://example.com/x?ref=main"],
    ["/srv/git/x.git", undefined],
    ["C:\\repo", undefined],
    ["file:///srv/git/x.git", undefined],
    ["../x", undefined],
    ["", undefined],
  ];
  for (const [given, shown] of cases) test(given || "(empty)", () => expect(webAddress(given)).toBe(shown));
});
