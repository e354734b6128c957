/** The queue of jobs by the command line: pages, filters, and who sees what. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { JOB_KINDS } from "../../src/domain/job-kinds.ts";
import type { NewJob } from "../../src/server/stores/metadata/jobs.ts";
import { createSqliteMetadataStore } from "../../src/server/stores/metadata/sqlite.ts";
import { exchange } from "../harness/browser-session.ts";
import { type Platform, runCommand, startPlatform } from "./platform.ts";

/** Milliseconds until the jobs are due: nothing runs them during the tests. */
const DELAY_MS = 86_400_000;

interface Listed {
  readonly jobs: readonly { readonly number: number; readonly environment_name: string; readonly state: string; readonly kind: string }[];
  readonly next_cursor: string;
}

let platform: Platform;
let staging = "";
const svc = (line: string, env: Record<string, string> = {}) => {
  const [first = "", ...others] = line.split(" ");
  return runCommand(first, others, { ...platform, env: { ...platform.env, ...env } });
};
const numbers = async (words = "", env: Record<string, string> = {}) => {
  const listed = (await svc(`jobs list --json ${words}`.trim(), env)).json() as Listed;
  return listed.jobs.map(({ number }) => number);
};
/** Credentials with permissions, of all environments or one. */
const credentials = async (words: string): Promise<Record<string, string>> => {
  const made = (await svc(`service-token create ${words} --json`)).json() as { client_id: string; client_secret: string };
  return { SVC_CLIENT_ID: made.client_id, SVC_CLIENT_SECRET: made.client_secret };
};

beforeAll(async () => {
  platform = await startPlatform();
  const made = await svc("environment create staging --json");
  staging = (made.json() as { id: string }).id;
  const store = createSqliteMetadataStore({ path: join(platform.home, "data/meta.db"), programVersion: "v0.0.0-test" });
  const job = (id: string, patch: Partial<NewJob>) =>
    store.jobs.enqueue({
      id,
      kind: "deployment",
      payload: { key: "s3cret-payload" },
      delayMs: DELAY_MS,
      maxAttempts: 2,
      attemptTimeoutMs: 60_000,
      ...patch,
    });
  await job("job_1", { scope: platform.environmentId, subject: "dpl_1" });
  await job("job_2", { scope: staging });
  await job("job_3", { kind: "purge-jobs" });
  await job("job_4", { scope: "env_removed", kind: "erase-environment" });
  await store.close();
});
afterAll(() => platform.server.stop());

describe("jobs", () => {
  test("of the server and of removed environments are seen by who may see the whole team's, and by nobody else", async () => {
    const reader = await credentials("--name reader --permission read");
    const auditor = await credentials("--name auditor --permission read,audit.read");
    const limited = await credentials("--name limited --permission read --limit-to staging");
    expect([await numbers(), await numbers("", auditor), await numbers("", reader), await numbers("", limited)]).toEqual([
      [4, 3, 2, 1],
      [4, 3, 2, 1],
      [2, 1],
      [2],
    ]);
    expect((await svc("jobs get 2", limited)).stdout).toMatch(/Environment: +staging/);
    expect([
      await numbers("--environment staging"),
      await numbers("--environment default", reader),
      await numbers("--environment staging", limited),
    ]).toEqual([[2], [1], [2]]);
    expect((await svc("jobs list --environment default", limited)).stderr).toContain("The credentials are limited to some environments");
    expect((await svc("jobs list --environment nowhere")).stderr).toContain("There is no environment 'nowhere'.");
    for (const id of ["1", "job_1", "3", "4", "job_4"]) {
      const { exitCode, stdout, stderr } = await svc(`jobs get ${id}`, limited);
      expect([exitCode === 0, stdout, stderr]).toEqual([false, "", expect.stringContaining(`There is no job '${id}'.`)]);
    }
  });

  test("are listed by kind and state, skipped, and continued by a token that no other list takes", async () => {
    expect([await numbers("--kind deployment"), await numbers("--state not_ready"), await numbers("--state running")]).toEqual([
      [2, 1],
      [4, 3, 2, 1],
      [],
    ]);
    expect(await numbers("--offset 1 -L 2")).toEqual([3, 2]);
    const { next_cursor: token } = (await svc("jobs list --json --limit 3")).json() as Listed;
    expect(await numbers(`--page-token ${token}`)).toEqual([1]);
    const wrong = await svc(`jobs list --kind deployment --page-token ${token}`);
    expect([wrong.exitCode === 0, wrong.stderr]).toEqual([false, expect.stringContaining("does not belong to this list")]);
  });

  test("have the kinds that the server runs, and no others", async () => {
    const token = await exchange(platform.url, platform.env.SVC_CLIENT_ID ?? "", platform.env.SVC_CLIENT_SECRET ?? "");
    const answer = await fetch(`${platform.url}/svc.v1.JobService/ListJobs`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ kinds: ["zzzzzzzzzz"] }),
    });
    const there = /There are: ([^."]+)\./.exec(await answer.text())?.[1]?.split(", ") ?? [];
    expect([answer.status, there.sort()]).toEqual([400, [...JOB_KINDS].sort()]);
    expect((await svc("jobs list --kind deploymnt")).stderr).toContain("deployment");
  });

  test("get another priority from who may change the server, within bounds", async () => {
    const deployer = await credentials("--name deployer --permission read,deploy");
    const set = await svc("jobs set-priority 2 -100");
    expect([set.exitCode, set.stdout]).toEqual([0, expect.stringMatching(/^Priority: +-100$/m)]);
    expect((await svc("jobs get 2 --json")).json()).toMatchObject({ priority: -100 });
    for (const [line, message, env] of [
      ["jobs set-priority 2 5", "infra.write", deployer],
      ["jobs set-priority 2 101", "'101' is no priority: it is a whole number from -100 to 100", {}],
      ["jobs set-priority 2 high", "'high' is no priority", {}],
      ["jobs set-priority two 1", "'two' is no job", {}],
      ["jobs set-priority 99 1", "There is no job '99'.", {}],
    ] as const)
      expect([line, (await svc(line, env)).stderr]).toEqual([line, expect.stringContaining(message)]);
    const told = (await svc("audit list --json")).stdout;
    expect(told).toContain("JobService/SetJobPriority");
  });

  test("are submitted as queries begun once more, and what cannot be done is refused by name", async () => {
    const refusals: readonly (readonly [words: string, says: string])[] = [
      ["", "give --from-job, or --kind"],
      ["--kind script_task", "--kind script_task is not supported"],
      ["--kind async_offline_query", "begin it with `svc offline-query`"],
      ["--kind scheduled_query", "--job-name names the scheduled query"],
      ["--kind scheduled_query --job-name q --num-workers 2", "--num-workers is not supported"],
      ["--kind scheduled_query --job-name q --attempt-deadline 2", "--completion-deadline-seconds is not supported"],
      ["--kind scheduled_query --job-name q --enable-profiling", "--enable-profiling is not supported"],
      ["--kind scheduled_query --job-name q --env A=b", "--env-payload is not supported"],
      ["--kind scheduled_query --job-name q --operation-id x", "--operation-id must be a UUID"],
      ["--from-job 1 --detach --workflow-execution-id wf_1", "do not go together"],
      ["--from-job 1", "jobs of offline queries alone can be repeated"],
      ["--from-job 999", "There is no job '999'"],
    ];
    for (const [words, says] of refusals) {
      const { exitCode, stderr } = await svc(`jobs submit ${words}`.trim());
      expect([words, exitCode === 0, stderr.includes(says) || stderr]).toEqual([words, false, true]);
    }
  });

  test("are a table of 80 columns and lines, and never what a job was given", async () => {
    const { stdout } = await svc("jobs list");
    expect(Math.max(...stdout.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(stdout).toMatch(/ID +Kind +State +Environment +Waits For +Created\n +4 +erase-environment +not_ready +\(removed\) +\d{4}-/);
    expect(stdout).toMatch(/ 3 +purge-jobs +not_ready +\(server\) /);
    const one = await svc("job get job_1");
    expect(one.stdout).toMatch(/^ID: +1\n[\s\S]*About: +dpl_1\nState: +not_ready\nWaits for: +\d{4}-.*\nEnvironment: +default\n/);
    expect(stdout + one.stdout + (await svc("jobs list --json")).stdout + (await svc("jobs get 1 --json")).stdout).not.toContain("s3cret");
  });

  test("are asked for with what can be one, or picked on a terminal", async () => {
    for (const [line, message] of [
      ["jobs get twelve", "'twelve' is no job"],
      ["jobs get", "<id> is required when there is no terminal"],
      ["jobs get 99", "There is no job '99'."],
      ["jobs get ofq_9.0", "There is no job 'ofq_9.0'."],
      ["jobs submit --from-job twelve", "'twelve' is no job"],
      ["jobs list --limit 501", "--limit takes 1 to 500"],
      ["jobs list --offset 10001", "--page-token reaches further"],
      ["jobs list --offset 1 --page-token x", "do not go together"],
    ] as const)
      expect([line, (await svc(line)).stderr]).toEqual([line, expect.stringContaining(message)]);
  });
});
