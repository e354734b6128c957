/** The log from the command line, over the embedded server. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { main } from "../../src/cli/run.ts";
import { systemClock } from "../../src/context/system-clock.ts";
import { start } from "../../src/server/boot/start.ts";
import { testRun } from "../client/test-context.ts";
import { eventually } from "../harness/eventually.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

const RESOLVERS = `import logging

from features import User
from svc import online


@online
def get_name(id: User.id) -> User.name:
    print("asked for", id)
    logging.getLogger("mine").warning("slow for %s \\x1b[31m", id)
    return f"user-{id}"
`;

interface Line {
  readonly message: string;
  readonly level: string;
  readonly component: string;
  readonly resolver: string;
  readonly operation_id: string;
  readonly query_name: string;
  readonly correlation_id: string;
  readonly pod_name: string;
  readonly environment_id: string;
  readonly attributes: Readonly<Record<string, string>>;
}

let platform: Platform;
let project: string;

const svc = (path: string, words: readonly string[] = [], env: Record<string, string> = {}) =>
  runCommand(path, words, { home: platform.home, env: { ...platform.env, ...env }, dir: project });
const lines = async (...words: string[]) => {
  const { exitCode, stdout, stderr } = await svc("logs", [...words, "--json"]);
  if (exitCode !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Line[];
};
const query = async (id: number, ...words: string[]) => {
  const asked = await svc("query", ["--in", `user.id=${id}`, "--out", "user.name", "--staleness", "user.name=0s", "--json", ...words]);
  if (asked.exitCode !== 0) throw new Error(asked.stderr);
};

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject({ "resolvers.py": RESOLVERS });
  const applied = await svc("apply", ["--force", "--await"]);
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  await query(7, "--correlation-id", "order-1");
  await eventually(async () => (await lines("--query", "level:warn resolver:*")).length === 1, "the line is there");
}, 300_000);
afterAll(() => platform.server.stop());

describe("svc logs", () => {
  test("has what resolvers print and log, with their query, build lines, and the server's own", async () => {
    const [printed, logged] = await lines("--query", "resolver:resolvers.get_name");
    expect(printed).toMatchObject({ message: "asked for 7", level: "info", component: "engine", correlation_id: "order-1" });
    expect(logged).toMatchObject({ message: "slow for 7 \u001b[31m", level: "warning", environment_id: platform.environmentId });
    expect(printed?.operation_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(printed?.pod_name).toMatch(/^worker-/);
    expect((await lines("--query", `operation_id:${printed?.operation_id}`)).length).toBe(2);
    expect((await lines("--query", "component:build")).map(({ message }) => message)).toContain("analyzing");
    expect((await lines("--query", 'component:server "server started"'))[0]?.attributes.url).toBe(platform.url);
  });

  test("prints a line each, oldest first, that cannot steer the terminal", async () => {
    const { stdout } = await svc("logs", ["--query", "resolver:*"]);
    expect(stdout.split("\n")[0]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z INFO {4}engine resolvers\.get_name: asked for 7$/);
    expect(stdout).toContain("WARNING engine resolvers.get_name: slow for 7 \\x1b[31m");
  });

  test("goes on by pages, and takes no token of another search", async () => {
    const all = await lines();
    const first = await svc("logs", ["--limit", "3"]);
    const token = /--page-token (\S+)/.exec(first.stderr)?.[1] ?? "";
    const older = await lines("--limit", "3", "--page-token", token);
    expect(older).toEqual(all.slice(-6, -3));
    const other = await svc("logs", ["--query", "level:info", "--page-token", token]);
    expect([other.exitCode, other.stderr]).toEqual([1, expect.stringContaining("The page token does not belong to this list.")]);
  });

  test("finds by time, and says when there is nothing", async () => {
    expect(await lines("--end", "1h")).toEqual([]);
    const { exitCode, stderr } = await svc("logs", ["--start-time", "24h ago", "--end-time", "1h ago"]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("No lines found.")]);
  });

  test("counts by level and window, as a table and as JSON", async () => {
    const { stdout } = await svc("logs", ["--aggregate", "--query", "resolver:*", "--window-period", "1h", "--start", "2h"]);
    const rows = stdout
      .trim()
      .split("\n")
      .map((row) => row.split(/ {2,}/));
    expect(rows[0]).toEqual(["Time", "Errors", "Warnings", "Info", "Debug", "Total"]);
    const total = rows.slice(1).reduce((sum, row) => sum + Number(row[5]), 0);
    expect(total).toBe((await lines("--query", "resolver:*")).length);
    const counted = (await svc("logs", ["--aggregate", "--query", "level:warn resolver:*", "--json"])).json() as { counts: object[] };
    expect(counted.counts).toEqual([expect.objectContaining({ level: "warning", count: expect.anything() })]);
  });

  test.each([
    [["--query", "levl:error"], "--query, column 1: there is no field 'levl'; did you mean 'level'?"],
    [["--query", "ok (level:info"], "--query, column 4: the parenthesis is not closed"],
    [["--follow", "--aggregate"], "--follow and --aggregate do not go together"],
    [["--follow", "--end-time", "1h"], "--follow and --end-time do not go together"],
    [["--follow", "--tui"], "--follow and --tui do not go together"],
    [["--window-period", "5m"], "--window-period needs --aggregate"],
    [["--window-period", "1ms", "--aggregate"], "--window-period is at least a second"],
    [["--limit", "0"], "--limit takes 1 to 10000"],
    [["--start", "1h", "--end", "2h"], "--end-time is not after --start-time"],
    [["--tui"], "the interactive view needs a terminal"],
  ])("%p is refused", async (words, said) => {
    const { exitCode, stderr } = await svc("logs", words);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(said)]);
  });

  test("the place of an error is pointed at", async () => {
    const { stderr } = await svc("logs", ["--query", "ok levl:error"]);
    expect(stderr).toContain("  ok levl:error\n     ^^^^\n");
  });

  test("too many windows are refused by the server", async () => {
    const { exitCode, stderr } = await svc("logs", ["--aggregate", "--window-period", "1s", "--start", "24h"]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("more than 1000 windows")]);
  });
});

describe("svc logs requests", () => {
  test("has each request with its facts, never what it carried", async () => {
    await fetch(`${platform.url}/v1/query/online?secret=in-the-address`, { headers: { authorization: "Bearer nonsense" } });
    const found = async (search: string) =>
      ((await svc("logs/requests", ["--query", search, "--json"])).json() as { requests: Record<string, unknown>[] }).requests;
    const [refused] = await found("path:/v1/query/online response_code:401 OR response_code:405");
    expect(refused).toMatchObject({ method: "GET", path: "/v1/query/online", client_id: "" });
    const [called] = await found("path:QueryService/Query response_code:200");
    expect(called).toMatchObject({ method: "POST", client_id: platform.env.SVC_CLIENT_ID });
    expect(JSON.stringify(await found(""))).not.toMatch(/in-the-address|nonsense|Bearer/);
    const { stdout } = await svc("logs/requests", ["--limit", "2"]);
    expect(stdout.split("\n")[0]?.split(/ {2,}/)).toEqual(["Timestamp", "Path", "Response Code", "Duration"]);
    expect((await svc("logs/requests", ["--query", "level>error path:QueryService"])).stderr).toContain("No requests found.");
  });
});

describe("credentials that are limited to an environment", () => {
  test("see its lines alone: neither those of others, nor the server's, nor requests", async () => {
    expect((await svc("environment/create", ["staging"])).exitCode).toBe(0);
    const made = (await svc("service-token/create", ["--name", "limited", "--role", "operator", "--limit-to", "staging", "--json"])).json();
    const { client_id: id, client_secret: secret } = made as { client_id: string; client_secret: string };
    const env = { SVC_CLIENT_ID: id, SVC_CLIENT_SECRET: secret, SVC_ENVIRONMENT: "staging" };
    expect((await svc("logs", ["--json"], env)).json()).toEqual([]);
    expect((await svc("logs", ["--json"], { ...env, SVC_ENVIRONMENT: "default" })).exitCode).not.toBe(0);
    expect((await svc("logs/requests", [], env)).exitCode).not.toBe(0);
    const whole = await lines("--query", "component:server");
    expect(whole.length).toBeGreaterThan(0);
  });
});

test("following shows what comes, and goes on after a restart of the server", async () => {
  const stopping = new AbortController();
  const run = testRun({ home: platform.home, env: platform.env, dir: project, signal: stopping.signal });
  const ended = main(["logs", "--follow", "--query", "resolver:*", "--json"], run.deps);
  const seen = () =>
    run
      .stdout()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => (JSON.parse(line) as Line).message);
  await eventually(() => seen().includes("asked for 7"), "the lines of before");
  await query(8);
  await eventually(() => seen().includes("asked for 8"), "a line that came");
  const { port } = platform.server;
  await platform.server.stop();
  const home = platform.home;
  const server = await start({
    ...{ port, dataDir: join(home, "data"), home: join(home, ".svc"), clock: systemClock, version: "v0.0.0-test" },
    env: { PATH: process.env.PATH, HOME: home },
    log: () => undefined,
  });
  platform = { ...platform, server };
  await server.ready;
  await query(9);
  await eventually(() => seen().includes("asked for 9"), "a line after the restart");
  expect(seen().filter((message) => message.startsWith("asked"))).toEqual(["asked for 7", "asked for 8", "asked for 9"]);
  stopping.abort(new Error("enough"));
  await ended;
}, 300_000);
