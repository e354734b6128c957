/** Traces and spans of a real server, and those of queries that nobody asked a trace of. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../../client/test-context.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "../platform.ts";

interface Trace {
  readonly trace_id: string;
  readonly root_span: string;
  readonly operation_id: string;
  readonly query_name: string;
  readonly span_count: number;
  readonly error_count: number;
}
interface Span {
  readonly span_id: string;
  readonly name: string;
  readonly service: string;
  readonly kind: string;
  readonly attributes: Readonly<Record<string, string>>;
}

let platform: Platform;
let project = "";

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject();
  const applied = await runCommand("apply", ["--force", "--await"], { ...platform, dir: project });
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
  await query(1, "--trace");
  await query(13, "--trace", "--query-name", "unlucky");
  await query(2);
}, 300_000);
afterAll(() => platform.server.stop());

const svc = (path: string, words: readonly string[] = []) => runCommand(path, words, { ...platform, dir: project });
const query = (id: number, ...words: string[]) => svc("query", ["--in", `user.id=${id}`, "--out", "user.fragile", ...words]);
const traces = async (...words: string[]) => ((await svc("trace/list", ["--json", ...words])).json() as { traces: Trace[] }).traces;

test("traces that were asked for are listed, the latest first", async () => {
  const all = await traces();
  expect(all.map(({ root_span: root, query_name: name, error_count: errors }) => [root, name, errors > 0])).toEqual([
    ["QueryService.Query", "unlucky", true],
    ["QueryService.Query", "", false],
  ]);
  expect(await traces("--span-name", "resolvers.frag*")).toEqual(all);
  expect(await traces("--span-name", "resolvers.frag")).toEqual([]);
  expect(await traces("--service-name", "svc-python", "--start", "-1h")).toEqual(all.slice(0, 1));
  expect(await traces("--service-name", "other")).toEqual([]);
  expect(await traces("--end", "-1h")).toEqual([]);
  expect(await traces("--limit", "1")).toEqual(all.slice(0, 1));
  expect(await traces("--limit", "1", "--all-pages")).toEqual(all);
  for (const limit of ["0", "1001"]) expect((await svc("trace/list", ["--limit", limit])).exitCode).toBe(2);
});

test("a trace is shown by its id and by its query, as a table in a pipe and as bars on a terminal", async () => {
  const [last] = await traces();
  const byTrace = (await svc("trace/get", ["--trace-id", last?.trace_id ?? "", "--json"])).json() as Trace & { spans: Span[] };
  const byQuery = await svc("trace/get", ["--operation-id", last?.operation_id ?? "", "--json"]);
  expect(byQuery.json()).toEqual(byTrace);
  expect(byTrace.spans).toHaveLength(byTrace.span_count);
  const worker = byTrace.spans.find(({ kind }) => kind === "worker");
  expect(worker).toMatchObject({ service: "svc-python", name: "resolvers.fragile" });
  expect(worker?.attributes).toMatchObject({
    "svc.resolver": "resolvers.fragile",
    "code.function.name": "resolvers.fragile",
    "error.type": "ValueError",
  });
  const { stdout } = await svc("trace/get", ["--trace-id", last?.trace_id ?? ""]);
  expect(stdout.split("\n")[0]).toMatch(/^Name +Service +Start +Duration +Facts/);
  expect(stdout).toContain("unlucky number");
  const drawn = await runCommand("trace/get", ["--trace-id", last?.trace_id ?? ""], {
    ...platform,
    dir: project,
    terminal: true,
    columns: 120,
  });
  expect(drawn.stdout).toContain(`Trace ${last?.trace_id}`);
  expect((await svc("trace/get")).exitCode).toBe(2);
  expect((await svc("trace/get", ["--trace-id", "0"])).stderr).toContain("There is no trace '0'.");
});

test("spans are listed, and one is shown", async () => {
  const [last] = await traces();
  const spans = async (...words: string[]) => ((await svc("trace/spans/list", ["--json", ...words])).json() as { spans: Span[] }).spans;
  const own = await spans("--trace-id", last?.trace_id ?? "");
  expect(own).toHaveLength(last?.span_count ?? 0);
  expect((await spans()).length).toBeGreaterThan(own.length);
  const [worker, ...others] = await spans("--trace-id", last?.trace_id ?? "", "--service-name", "svc-python");
  expect([worker?.name, others.length]).toEqual(["resolvers.fragile", 0]);
  const { stdout } = await svc("trace/spans/get", [worker?.span_id ?? "", "--trace-id", last?.trace_id ?? ""]);
  expect(stdout).toMatch(/^Service: +svc-python$/m);
  expect((await svc("trace/spans/get", ["0"])).exitCode).toBe(1);
});

test("with a rate, queries are traced that did not ask, and are told nothing of it", async () => {
  const before = (await traces()).length;
  const file = join(tempFolder("svc-spec-"), "metrics.yaml");
  writeFileSync(file, "trace_sample_rate: 1\n");
  const applied = await svc("infra/apply/metrics", ["--file", file, "--yes"]);
  expect({ exitCode: applied.exitCode, stderr: applied.stderr }).toMatchObject({ exitCode: 0 });
  const answer = (await query(3, "--json", "--include-meta")).json() as { meta: { trace_id?: string }; spans?: object };
  expect(answer.meta?.trace_id ?? "").toBe("");
  expect((await traces()).length).toBe(before + 1);
  writeFileSync(file, "trace_sample_rate: 2\n");
  expect((await svc("infra/apply/metrics", ["--file", file, "--yes"])).stderr).toContain("from 0 to 1");
});
