/** Metrics of the server that the compiled binary started: over a restart, and on a terminal. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { isAlive } from "../harness/is-alive.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { Terminal } from "../harness/terminal.ts";

interface Answer {
  readonly series: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly points: readonly { readonly value: number | null }[];
  }[];
}

const PROJECT = {
  "svc.yaml": "project: demo\nenvironments:\n  default: {}\n",
  "features.py": "from svc.features import features\n\n\n@features\nclass User:\n    id: int\n    double: int\n",
  "resolvers.py":
    "from features import User\nfrom svc import online\n\n\n@online\ndef double(id: User.id) -> User.double:\n    return id * 2\n",
};

const sandbox = new Sandbox();
let project = "";

beforeAll(async () => {
  await sandbox.startServer();
  project = await sandbox.write(PROJECT);
  await sandbox.json(["apply", "--force", "--await"], { cwd: project });
  for (const name of ["fraud", "fraud", "score"])
    await sandbox.json(["query", "--in", "user.id=1", "--out", "user.double", "--query-name", name], { cwd: project });
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

const counted = async () => {
  const { series } = await sandbox.json<Answer>(["metrics", "query", "sum:query.count by {query_name}"]);
  return series.map(({ labels, points }) => [labels.query_name, points.reduce((sum, { value }) => sum + (value ?? 0), 0)]);
};

test("what was counted is there at once, and after a restart", async () => {
  const expected = [
    ["fraud", 2],
    ["score", 1],
  ];
  expect(await counted()).toEqual(expected);
  const stopped = await sandbox.svc(["server", "stop"]);
  const pid = Number(/\(process (\d+)\)/.exec(stopped.stdout)?.[1]);
  await eventually(() => !isAlive(pid), "the process has ended");
  await sandbox.startServer();
  expect(await counted()).toEqual(expected);
}, 300_000);

test("a terminal with colours gets braille, one without gets ASCII", async () => {
  const words = ["metric", "query", "sum:query.count by {query_name}"];
  const { exitCode, screen } = await Terminal.start(sandbox, words).ended();
  expect([exitCode, /[\u2801-\u28ff]/.test(screen), screen.includes("fraud")]).toEqual([0, true, true]);
  const plain = await Terminal.start(sandbox, words, { env: { NO_COLOR: "1" } }).ended();
  expect([plain.exitCode, /[\u2800-\u28ff\u001b]/.test(plain.screen), plain.screen.includes("a fraud")]).toEqual([0, false, true]);
}, 300_000);

test("an expression that cannot be read is marked below, and nothing is on stdout", async () => {
  const { exitCode, stderr, stdout } = await sandbox.svc(["metrics", "query", "p99:query.latency{query:x}"]);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toContain("\np99:query.latency{query:x}\n                  ^^^^^\n");
});

test("a server that is stopped before it wrote anything ends with all of its threads", async () => {
  await using own = new Sandbox();
  await own.startServer();
  const pid = Number(/\(process (\d+)\)/.exec((await own.svc(["server", "stop"])).stdout)?.[1]);
  expect(pid).toBeGreaterThan(1);
  await eventually(() => !isAlive(pid), "the process has ended");
}, 300_000);

test("a resolver's slowest calls outlive a server that is killed, once their minute was written", async () => {
  type Shown = { readonly slowest_calls: readonly { readonly trace_id: string; readonly value: number }[] };
  const shown = async () => (await sandbox.json<Shown>(["resolvers", "show", "double"], { cwd: project })).slowest_calls;
  await sandbox.json(["query", "--in", "user.id=2", "--out", "user.double", "--trace"], { cwd: project });
  const [before] = await shown();
  expect(before?.trace_id).toMatch(/^[0-9a-f]{32}$/);
  await eventually(() => keptTraces().includes(before?.trace_id ?? ""), "the trace is written");
  await sandbox.killServer();
  await sandbox.startServer();
  expect((await shown())[0]).toEqual(before);
  const { stdout } = await sandbox.svc(["resolvers", "show", "double"], { cwd: project });
  expect(stdout).toMatch(new RegExp(`Slowest calls\\n.* trace ${before?.trace_id}\\n`));
}, 300_000);

/** Traces that are in the file of metrics. */
function keptTraces(): string[] {
  using file = new Database(join(sandbox.home, ".svc/data/metrics.db"), { readonly: true });
  return file
    .query<{ id: string }, []>("select trace_id as id from exemplar")
    .all()
    .map(({ id }) => id);
}
