/** Schedules paused and resumed by the command line, and what `svc apply` says of them. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

const NIGHTLY = `from features import User
from svc.queries import ScheduledQuery

ScheduledQuery(name="nightly", schedule="30 2 * * *", output=[User.name])
`;
const daily = (cron: string) => `from features import User
from svc import DataFrame, offline


@offline(cron="${cron}")
def scores() -> DataFrame[User.id, User.score]:
    return DataFrame({User.id: [1], User.score: [0.5]})
`;

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.server.stop());
const svc = (line: string, dir?: string) => {
  const [first = "", ...others] = line.split(" ");
  return runCommand(first, others, { ...platform, ...(dir !== undefined && { dir }) });
};

test("what is paused says so, stays so when it is applied again, and is resumed", async () => {
  const first = await svc("apply --force --await", writeProject({ "daily.py": daily("5 4 * * *"), "nightly.py": NIGHTLY }));
  expect([first.exitCode, first.stderr.includes("paused")]).toEqual([0, false]);
  expect((await svc("scheduled-resolver pause scores")).stdout).toMatch(/^Resolver FQN: +daily\.scores\n(.*\n)*Next Run: +paused$/m);
  expect((await svc("scheduled-query pause nightly")).stdout).toMatch(/^Next Run: +paused$/m);
  expect((await svc("scheduled-resolver list")).stdout).toMatch(/^daily\.scores +5 4 \* \* \* +paused/m);
  expect((await svc("scheduled-query list --json")).json()).toMatchObject({ scheduled_queries: [{ name: "nightly", paused: true }] });
  const changed = writeProject({ "daily.py": daily("6 4 * * *"), "nightly.py": NIGHTLY });
  const again = await svc("apply --force --await", changed);
  expect(again.stderr).toContain(
    "2 schedules stay paused, until `svc scheduled-resolver resume daily.scores`, `svc scheduled-query resume nightly`.",
  );
  expect((await svc("apply --force --await --branch=try-it", changed)).stderr).not.toContain("paused");
  expect((await svc("scheduled-resolver resume daily.scores")).stdout).not.toContain("paused");
  expect((await svc("scheduled-query resume nightly")).stdout).not.toContain("paused");
  expect((await svc("apply --force --await", changed)).stderr).not.toContain("paused");
  const unknown = await svc("scheduled-query resume nightlys");
  expect([unknown.exitCode === 0, unknown.stderr.includes("did you mean 'nightly'")]).toEqual([false, true]);
}, 300_000);
