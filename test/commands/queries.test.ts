/** Runs of queries, meta queries and plans of a real server that answered real queries. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { patientClock } from "../harness/patient-clock.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

interface Run {
  readonly id: string;
  readonly query_name: string;
  readonly status: string;
  readonly kind: string;
  readonly error_codes: readonly string[];
  readonly primary_key: string;
  readonly query_plan_id: string;
  readonly meta_query_id: string;
  readonly agent_id: string;
  readonly hit_share: number | null;
  readonly latency: string | null;
}

const PEOPLE = `from svc import NamedQuery, online
from svc.features import feature, features


@features
class Person:
    email: str = feature(primary=True, tags="pii")
    initials: str


@online
def initials(email: Person.email) -> Person.initials:
    return email[:1].upper()


NamedQuery(name="who", version="1.0.0", input=[Person.email], output=[Person.initials])
NamedQuery(name="who", version="2.0.0", input=[Person.email], output=[Person.initials])
`;

let platform: Platform;
let project = "";

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject({ "people.py": PEOPLE });
  const applied = await runCommand("apply", ["--force", "--await"], { ...platform, dir: project });
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  for (const id of [1, 2, 13]) await svc("query", ["--in", `user.id=${id}`, "--out", "user.fragile", "--out", "user.score"]);
  await svc("query", ["--in", "user.id=1", "--out", "user.name", "--query-name", "label"]);
  await svc("query", ["--in", "user.id=1", "--out", "user.name", "--query-name", "label"]);
  await svc("query", ["--in", "person.email=zoe@example.com", "--query-name", "who"]);
  await svc("query", ["--bulk", "--in", "user.id=1", "--in", "user.id=2", "--out", "user.score"]);
  await svc("query", ["--in", "user.id=7", "--out", "user.nothing"]);
}, 300_000);
afterAll(() => platform.server.stop());

const svc = (path: string, words: readonly string[] = []) => runCommand(path, words, { ...platform, dir: project });
const runs = async (...words: string[]) => ((await svc("queries/list", ["--json", ...words])).json() as { queries: Run[] }).queries;
const named = async (name: string): Promise<Run> => (await runs("--meta-query-name", name))[0] as Run;

describe("queries list", () => {
  test("has every query, newest first, with how it went", async () => {
    const all = await runs();
    expect(all.map(({ status, kind, primary_key: key }) => [status, kind, key])).toEqual([
      ["failed", "online", ""],
      ["ok", "bulk", ""],
      ["ok", "online", ""],
      ["ok", "online", "1"],
      ["ok", "online", "1"],
      ["partial", "online", "13"],
      ["ok", "online", "2"],
      ["ok", "online", "1"],
    ]);
    expect(all.map(({ error_codes: codes }) => codes).filter((codes) => codes.length > 0)).toEqual([["parse_failed"], ["resolver_failed"]]);
    expect(new Set(all.map(({ agent_id: agent }) => agent))).toEqual(new Set([platform.env.SVC_CLIENT_ID ?? "?"]));
    expect(all.every(({ latency }) => latency === null)).toBe(true);
  });

  test("finds runs by each of its flags", async () => {
    const one = await named("label");
    const ids = async (...words: string[]) => (await runs(...words)).length;
    expect(await ids("--errors-only")).toBe(2);
    expect(await ids("--id", one.id.slice(4))).toBe(1);
    expect(await ids("--query-plan-id", one.query_plan_id)).toBe(2);
    expect(await ids("--meta-query-id", one.meta_query_id)).toBe(2);
    expect(await ids("--root-ns-pkey", "1")).toBe(3);
    expect(await ids("--branch", "nothing")).toBe(0);
    expect(await ids("--agent-id", one.agent_id)).toBe(8);
    expect(await ids("--agent-id", "nobody")).toBe(0);
    expect(await ids("--since", "1h")).toBe(8);
    const slow = await runs("--min-latency-ms", "3600000");
    const timed = await runs("--latency-gt", "0");
    expect([slow.length, timed.length]).toEqual([0, 8]);
    expect(timed.every(({ latency }) => latency !== null)).toBe(true);
  });

  test("a key that is personal is not shown, and finds its runs all the same", async () => {
    const [run, ...others] = await runs("--pkey", "zoe@example.com");
    expect([run?.query_name, run?.primary_key, others.length]).toEqual(["who", "", 0]);
  });

  test("pages go on where one ended, to the last run", async () => {
    const { stderr, stdout } = await svc("queries/list", ["--limit", "5", "--include-latency"]);
    const token = /--page-token (\S+)/.exec(stderr)?.[1] ?? "";
    expect(stdout.trimEnd().split("\n")).toHaveLength(6);
    expect(stdout).toContain("Latency");
    expect((await runs("--limit", "5", "--page-token", token)).length).toBe(3);
    expect((await svc("queries/list", ["--page-token", token, "--errors-only"])).exitCode).toBe(1);
  });
});

test("queries get shows one with what it was asked and why it failed", async () => {
  const [failed] = await runs("--root-ns-pkey", "13");
  const { stdout } = await svc("queries/get", [failed?.id ?? ""]);
  expect(stdout).toMatch(/^Status: +partial$/m);
  expect(stdout).toMatch(/^Outputs: +user\.fragile, user\.score$/m);
  expect(stdout).toMatch(/^Error: .*unlucky number/m);
  expect(
    new Set(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => /^(?:\S.*?: +| +)(?=\S|$)/.exec(line)?.[0].length ?? line.length),
    ).size,
  ).toBe(1);
  const whole = (await svc("queries/get", [failed?.id ?? "", "--json"])).json() as { request: object; response: object };
  expect(Object.keys(whole)).toContain("response");
  expect((await svc("queries/get", [failed?.id ?? "", "--timestamp", "2020-01-01T00:00:00Z"])).stderr).toContain("not of that time");
  expect((await svc("queries/get", [failed?.id ?? "", "--timestamp", "now"])).exitCode).toBe(0);
  expect((await svc("queries/get", ["nothing"])).stderr).toContain("There is no query run 'nothing'.");
});

test("meta queries are those of a name and its version, and those of a shape", async () => {
  interface Meta {
    readonly id: string;
    readonly name: string;
    readonly version: string;
    readonly runs: string;
    readonly outputs: readonly string[];
  }
  const metas = async (...words: string[]) =>
    ((await svc("queries/meta/list", ["--json", ...words])).json() as { meta_queries: Meta[] }).meta_queries;
  const all = await metas();
  expect(all.map(({ name, version, outputs }) => [name, version, outputs.join()])).toEqual([
    ["", "", "user.score"],
    ["who", "2.0.0", "person.initials"],
    ["label", "", "user.name"],
    ["", "", "user.fragile,user.score"],
  ]);
  expect(all.map(({ runs: count }) => Number(count))).toEqual([1, 1, 2, 3]);
  expect((await metas("--only-named")).map(({ name }) => name)).toEqual(["who", "label"]);
  expect((await metas("--name", "ABE")).map(({ name }) => name)).toEqual(["label"]);
  expect(await metas("--start", "-1h", "--limit", "1")).toEqual(all.slice(0, 1));
  expect(await metas("--end", "-1h")).toEqual([]);
  const { stdout } = await svc("queries/meta/get", [(await named("label")).meta_query_id]);
  expect(stdout).toMatch(/^Runs: +2$/m);
  expect(stdout).toMatch(/^Latency: +p50 .*, of the last 2$/m);
  const adhoc = (await svc("queries/adhoc/list", ["--json"])).json() as { adhoc_queries: Meta[] };
  expect(adhoc.adhoc_queries.map(({ name }) => name)).toEqual(["", "label", ""]);
  const labelled = (await svc("queries/adhoc/list", ["--query-name", "label", "--environment-id", platform.environmentId])).stdout;
  expect(labelled.trimEnd().split("\n")).toHaveLength(2);
  expect((await svc("queries/adhoc/list", ["--environment-id", "nowhere"])).exitCode).toBe(1);
});

test("a plan is kept with the tree that --explain gives", async () => {
  const { stdout } = await svc("queries/plan/get", [(await named("label")).query_plan_id]);
  expect(stdout).toMatch(/^Outputs: +user\.name$/m);
  expect(stdout).toContain("└─ user.name");
  expect(stdout).toContain("get_name");
  expect((await svc("queries/plan/get", ["nothing"])).stderr).toContain("There is no query plan 'nothing'.");
});

test("named queries are listed, on a wide terminal with their runs by hour", async () => {
  const on = (words: readonly string[]) =>
    runCommand("named-query/list", words, { ...platform, dir: project, clock: patientClock, terminal: true, columns: 200 });
  const piped = await svc("named-query/list");
  expect(piped.stdout).toMatch(/^Index +Name +Version .*Planner Options\n +1 +who +1\.0\.0 /);
  const [header = "", ...rows] = (await on([])).stdout.trimEnd().split("\n");
  expect(header).toMatch(/ Planner Options +Runs by Hour *$/);
  for (const row of rows) expect(row.slice(header.indexOf("Runs by Hour")).trimEnd()).toMatch(/^[ _]{22,24}#_?$/);
  expect((await on(["--json"])).json()).toEqual((await svc("named-query/list", ["--json"])).json());
});
