/** Errors of a real server whose resolvers failed, listed and in groups; and that deleted keys do not stay in them. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

interface QueryError {
  readonly operation_id: string;
  readonly operation_kind: string;
  readonly query_name: string;
  readonly resolver: string;
  readonly feature: string;
  readonly code: string;
  readonly message: string;
  readonly exception: { readonly kind: string; readonly stacktrace: string } | null;
  readonly count: number;
  readonly omitted: number;
}
interface Group {
  readonly pattern: string;
  readonly count: string;
  readonly operations: string;
  readonly resolvers: readonly string[];
  readonly features: readonly string[];
  readonly sample: QueryError;
}

const FAILING = `from svc import online
from svc.features import features


@features
class Guest:
    name: str = ""
    id: int
    greeting: str
    same: str


@online
def greet(id: Guest.id) -> Guest.greeting:
    raise LookupError(f"no greeting for {id} at 'door {id}'")


@online
def same(id: Guest.id) -> Guest.same:
    raise ValueError("always")
`;

let platform: Platform;
let project = "";

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject({ "guests.py": FAILING });
  const applied = await runCommand("apply", ["--force", "--await"], { ...platform, dir: project });
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  for (const id of [4711, 815]) await svc("query", ["--in", `guest.id=${id}`, "--out", "guest.greeting", "--query-name", "greet"]);
  await svc("query", ["--bulk", ...[1, 2, 3].flatMap((id) => ["--in", `guest.id=${id}`]), "--out", "guest.same"]);
  await svc("query", ["--in", "guest.id=x", "--out", "guest.same"]);
}, 300_000);
afterAll(() => platform.server.stop());

const svc = (path: string, words: readonly string[] = []) => runCommand(path, words, { ...platform, dir: project });
const errors = async (...words: string[]) => ((await svc("errors/list", ["--json", ...words])).json() as { errors: QueryError[] }).errors;
const groups = async (...words: string[]) => ((await svc("errors/aggregate", ["--json", ...words])).json() as { groups: Group[] }).groups;

test("errors of all operations are listed, equal ones of one as one", async () => {
  const all = await errors();
  expect(all.map(({ operation_kind: kind, code, count }) => [kind, code, count])).toEqual([
    ["query", "parse_failed", 1],
    ["bulk_query", "resolver_failed", 3],
    ["query", "resolver_failed", 1],
    ["query", "resolver_failed", 1],
  ]);
  expect(all[1]).toMatchObject({ resolver: "guests.same", feature: "guest.same", exception: { kind: "ValueError" } });
  expect(all[1]?.exception?.stacktrace).toContain("guests.py");
  expect((await errors("--resolver", "guests.greet")).length).toBe(2);
  expect((await errors("--feature-fqn", "guest.same")).map(({ operation_kind: kind }) => kind)).toContain("bulk_query");
  expect((await errors("--query-name", "greet", "--since", "1h")).length).toBe(2);
  expect(await errors("--operation-id", all[3]?.operation_id ?? "")).toEqual([all[3] as QueryError]);
  const { stdout, stderr } = await svc("errors/list", ["--page-size", "3"]);
  expect(stdout.trimEnd().split("\n")).toHaveLength(4);
  expect(stderr).toContain("--page-token ");
  expect((await errors("--page-size", "1", "--all-pages")).length).toBe(4);
});

test("errors that differ in values alone are one group, with a stack of the last", async () => {
  const all = await groups();
  expect(all.map(({ count, operations }) => [Number(count), Number(operations)])).toEqual([
    [3, 1],
    [2, 2],
    [1, 1],
  ]);
  expect(all[1]?.pattern).toBe("resolver '<text>' raised LookupError: no greeting for <n> at '<text>' (guests.py:15)");
  expect(all[1]).toMatchObject({ resolvers: ["guests.greet"], features: ["guest.greeting"] });
  expect(all[1]?.sample.message).toContain("815");
  expect(await groups("--page-size", "1", "--all")).toEqual(all);
  expect((await groups("--resolver", "guests.same")).map(({ count }) => Number(count))).toEqual([3]);
});

test("rows that a run failed for are an error of the run", async () => {
  const before = (await errors()).length;
  await svc("offline-query", ["--in", "guest.id=1", "--out", "guest.same", "--recompute", "--wait"]);
  const found = (await errors()).slice(0, 1);
  expect((await errors()).length).toBe(before + 1);
  expect(found[0]).toMatchObject({ operation_kind: "offline_query", code: "resolver_failed", count: 1 });
});

test("a deleted key does not stay in errors", async () => {
  expect(JSON.stringify(await errors())).toContain("4711");
  const { exitCode, stderr } = await svc("delete", ["--features", "guest.greeting", "--keys", "4711", "--yes"]);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  const left = JSON.stringify([await errors(), await groups()]);
  expect(left).not.toContain("4711");
  expect(left).toContain("815");
  const runs = (await svc("queries/list", ["--json"])).json() as { queries: { primary_key: string }[] };
  expect(runs.queries.map(({ primary_key: key }) => key)).not.toContain("4711");
});
