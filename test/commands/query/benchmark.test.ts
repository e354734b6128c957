/** Load tests, figures for StatsD and bulk queries, on the real server. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { tempFolder } from "../../client/test-context.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "../platform.ts";

let platform: Platform;
let project = "";
const run = (words: readonly string[], options: Parameters<typeof runCommand>[2] = {}) =>
  runCommand("query", words, { home: platform.home, env: platform.env, dir: project, ...options });

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject();
  const done = await runCommand("apply", ["--force", "--await"], { home: platform.home, env: platform.env, dir: project });
  if (done.exitCode !== 0) throw new Error(done.stderr);
}, 300_000);
afterAll(() => platform.server.stop());

const LOAD = ["--in", "user.id=1", "--out", "user.score", "--benchmark", "--qps", "50", "--duration", "1s", "--warmup-duration", "200ms"];

interface Report {
  readonly queries: number;
  readonly answered: number;
  readonly failed: number;
  readonly unsent: number;
  readonly interrupted: boolean;
  readonly achieved_qps: number;
  readonly elapsed_s: number;
  readonly errors: Record<string, number>;
  readonly latency_ms: Record<string, number>;
  readonly histogram: { from_ms: number; to_ms: number; count: number }[];
}

describe("--benchmark", () => {
  test("a report as JSON, and the same in the file", async () => {
    const file = join(tempFolder(), "deep", "results.json");
    const done = await run([...LOAD, "--benchmark-output", file, "--json"]);
    expect([done.exitCode, done.stderr]).toEqual([0, ""]);
    const report = done.json() as Report;
    expect(report).toEqual((await Bun.file(file).json()) as Report);
    expect([report.queries, report.answered, report.failed, report.unsent, report.interrupted]).toEqual([50, 50, 0, 0, false]);
    expect(report.achieved_qps).toBeGreaterThan(0);
    const { min = 0, p50 = 0, p75 = 0, p90 = 0, p95 = 0, p99 = 0, p99_9 = 0, max = 0 } = report.latency_ms;
    const ordered = [min, p50, p75, p90, p95, p99, p99_9, max];
    expect(ordered).toEqual([...ordered].sort((left, right) => left - right));
    expect(min).toBeGreaterThan(0);
    expect(report.histogram.reduce((sum, { count }) => sum + count, 0)).toBe(50);
  });

  test("a report as text", async () => {
    const done = await run(LOAD);
    expect(done.exitCode).toBe(0);
    expect(done.stderr).toBe("Asking 50 queries a second for 1s\n");
    expect(done.stdout).toMatch(/^50 of 50 queries answered in .*: \d+(\.\d+)? a second of 50 asked for\nnone failed\n/);
    for (const name of ["min", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"])
      expect(done.stdout).toMatch(new RegExp(`^${name.replace(".", "\\.")} +\\d+\\.\\d\\d$`, "m"));
    expect(done.stdout).toMatch(/≤ +\d+\.\d\d ms +\d+ {2}█/);
  });

  test("failing features are errors by code, exit 1", async () => {
    const words = LOAD.map((word) => (word === "user.score" ? "user.fragile" : word === "user.id=1" ? "user.id=13" : word));
    const done = await run([...words, "--json"]);
    expect(done.exitCode).toBe(1);
    const report = done.json() as Report;
    expect(report.errors).toEqual({ RESOLVER_FAILED: 50 });
    expect((await run(words)).stdout).toMatch(/Error +Queries\nRESOLVER_FAILED +50/);
  });

  test("a wrong request is told before any load", async () => {
    const done = await run(LOAD.map((word) => (word === "user.score" ? "user.skore" : word)));
    expect(done.exitCode).toBe(1);
    expect(done.stderr).toContain("did you mean 'user.score'");
  });

  test("an interruption stops it, and it still reports", async () => {
    const abort = new AbortController();
    const words = LOAD.map((word) => (word === "1s" ? "1h" : word));
    const timer = setTimeout(() => abort.abort(new Error("interrupted")), 1200);
    const done = await run([...words, "--json"], { signal: abort.signal });
    clearTimeout(timer);
    const report = done.json() as Report;
    expect([done.exitCode, report.interrupted, report.failed]).toEqual([0, true, 0]);
    expect(report.answered).toBeGreaterThan(5);
    expect(report.elapsed_s).toBeLessThan(3_600);
  }, 300_000);

  test("a file that cannot be written does not lose the report", async () => {
    const done = await run([...LOAD, "--benchmark-output", "/dev/null/x.json"]);
    expect(done.exitCode).toBe(1);
    expect(done.stderr).toContain("/dev/null/x.json");
    expect(done.stdout).toContain("p99.9");
  });
});

describe("--statsd-host, --statsd-port", () => {
  const listen = async () => {
    const got: string[] = [];
    const socket = await Bun.udpSocket({
      hostname: "127.0.0.1",
      socket: { data: (_, data) => void got.push(...data.toString().split("\n")) },
    });
    const flags = ["--statsd-host", "localhost", "--statsd-port", String(socket.port)];
    const until = async (count: number) => {
      for (let turn = 0; turn < 500 && got.length < count; turn++) await Bun.sleep(5);
      socket.close();
      return got;
    };
    return { flags, until };
  };

  test("each query's latency, count and failure", async () => {
    const good = await listen();
    expect((await run(["--in", "user.id=1", "--out", "user.score", ...good.flags])).exitCode).toBe(0);
    const lines = await good.until(2);
    expect(lines[0]).toMatch(/^svc\.query\.latency:\d+(\.\d{1,3})?\|ms$/);
    expect(lines.slice(1)).toEqual(["svc.query.count:1|c"]);
    const bad = await listen();
    expect((await run(["--in", "user.id=13", "--out", "user.fragile", "--json", ...bad.flags])).exitCode).toBe(1);
    expect((await bad.until(4)).slice(1)).toEqual(["svc.query.count:1|c", "svc.query.errors:1|c", "svc.query.errors.RESOLVER_FAILED:1|c"]);
  });

  test("a refused query counts as a failure", async () => {
    const { flags, until } = await listen();
    expect((await run(["--in", "user.id=1", "--out", "user.skore", ...flags])).exitCode).toBe(1);
    expect((await until(4)).slice(1, 3)).toEqual(["svc.query.count:1|c", "svc.query.errors:1|c"]);
  });

  test("in a load test, the measured queries", async () => {
    const { flags, until } = await listen();
    await run([...LOAD, ...flags]);
    const lines = await until(100);
    expect(lines.filter((line) => line.startsWith("svc.query.latency:")).length).toBe(50);
  });

  test("a host that does not exist", async () => {
    const done = await run(["--in", "user.id=1", "--statsd-host", "no-such-host.invalid", "--statsd-port", "8125"]);
    expect([done.exitCode, done.stdout]).toEqual([1, ""]);
    expect(done.stderr).toContain("no-such-host.invalid");
  });
});

describe("flags that do not go together", () => {
  const cases: [words: string[], said: RegExp][] = [
    [["--qps", "5"], /--qps needs --benchmark/],
    [["--duration", "5s"], /--duration needs --benchmark/],
    [["--warmup-duration", "5s"], /--warmup-duration needs --benchmark/],
    [["--benchmark-out", "x.json"], /--benchmark-output needs --benchmark/],
    [["--benchmark", "--qps", "0"], /--qps/],
    [["--benchmark", "--duration", "0"], /--duration/],
    [["--benchmark", "--duration", "infinity"], /--duration/],
    [["--benchmark", "--repeat", "5s"], /exclude each other/],
    [["--benchmark", "--bulk"], /exclude each other/],
    [["--benchmark", "--explain"], /exclude each other/],
    [["--statsd-host", "x"], /both or neither/],
    [["--statsd-port", "8125"], /both or neither/],
    [["--statsd-host", "x", "--statsd-port", "0"], /1 to 65535/],
  ];
  test.each(cases)("%p", async (words, said) => {
    const done = await run(["--in", "user.id=1", ...words]);
    expect([done.exitCode, done.stdout]).toEqual([2, ""]);
    expect(done.stderr).toMatch(said);
  });
});
