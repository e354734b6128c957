import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/context/system-clock.ts";
import { start } from "../../src/server/boot/start.ts";
import { tempFolder } from "../client/test-context.ts";
import { eventually } from "../harness/eventually.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

interface Pod {
  readonly name: string;
  readonly kind: string;
  readonly ready: boolean;
  readonly restarts: number;
  readonly pid: number;
  readonly deployment_id: string;
}

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
  const applied = await runCommand("apply", ["--force", "--await"], { ...platform, dir: writeProject() });
  if (applied.exitCode !== 0) throw new Error(applied.stderr);
}, 300_000);
afterAll(() => platform.server.stop());

const svc = (path: string, words: readonly string[] = []) => runCommand(path, words, platform);
const pods = async () => ((await svc("pods", ["--json"])).json() as { pods: Pod[] }).pods;
const isReady = async () => (await pods()).filter(({ kind, ready }) => kind === "worker" && ready).length > 0;

describe("clusters", () => {
  test("there is one, with its nodes and their machine; another is refused", async () => {
    expect((await svc("clusters/list", ["--json"])).json()).toMatchObject({ clusters: [{ id: "clstr_local", kind: "local" }] });
    const described = await svc("cluster/describe", ["clstr_local"]);
    expect(described.stderr).toBe("");
    expect(described.stdout).toContain("id: clstr_local\n");
    const { nodes } = Bun.YAML.parse(described.stdout) as { nodes: { host: string; machine: { cpus: number } }[] };
    expect([nodes.length, nodes[0]?.host, (nodes[0]?.machine.cpus ?? 0) > 0]).toEqual([1, hostname(), true]);
    expect((await svc("clusters/describe", ["clstr_x"])).stderr).toContain("There is no cluster 'clstr_x'.");
  });

  test("what it has to be able to do is tried", async () => {
    const tested = await svc("clusters/test", ["clstr_local"]);
    const checks = tested.stdout.trimEnd().split("\n").slice(1);
    expect([tested.exitCode, checks.filter((line) => !/ ok$/.test(line))]).toEqual([0, []]);
    for (const store of ["metadata store", "object store", "online store", "telemetry store", "metrics store", "log store"])
      expect(checks.map((line) => line.replace(/ +ok$/, ""))).toContain(store);
  });
});

describe("pods and events", () => {
  test("the server and the workers of what is live are there, and what happened to them is told", async () => {
    await eventually(isReady, "a worker is ready");
    const all = await pods();
    expect(all.filter(({ kind }) => kind === "server")).toMatchObject([{ pid: process.pid, deployment_id: "", restarts: 0 }]);
    expect(all.find(({ kind }) => kind === "worker")?.deployment_id).toStartWith("dpl_");
    const listed = await svc("kube/events/list", ["--namespace", "default", "--message", "STARTED"]);
    expect(listed.stdout).toMatch(/ Normal +Started +default +pod\/worker-dpl_\w+-1 +It was started as process \d+ of /);
    expect((await svc("kube/events/list", ["--namespace", "server", "--json"])).json()).toMatchObject({
      events: [{ reason: "Ready" }, { reason: "Started" }],
    });
    expect((await svc("kube/events/list", ["--namespace", "nowhere"])).stderr).toContain("There is no namespace 'nowhere'.");
  });

  test("a worker that is killed is replaced, and counted as a restart", async () => {
    await eventually(isReady, "a worker is ready");
    const worker = (await pods()).find(({ kind }) => kind === "worker") as Pod;
    process.kill(-worker.pid, "SIGKILL");
    await eventually(async () => (await pods()).some(({ name, restarts }) => name === worker.name && restarts === 1), "it is replaced");
    const { events } = (await svc("kube/events/list", ["--pod", worker.name, "--json"])).json() as {
      events: { reason: string; message: string }[];
    };
    expect(events.find(({ reason }) => reason === "Crashed")?.message).toBe("It was killed by SIGKILL.");
  });
});

describe("usage", () => {
  test("processor time and queries are counted by day and label, and written as CSV", async () => {
    await eventually(isReady, "a worker is ready");
    for (const inputs of ["user.id=1", "user.id=13"]) await svc("query", ["--in", inputs, "--out", "user.fragile"]);
    const out = join(tempFolder("svc-usage-"), "usage.csv");
    const exported = await svc("usage/export", ["--out", out, "--json"]);
    const { usage } = exported.json() as { usage: Record<string, number>[] };
    expect(usage).toMatchObject([
      { label: "default/default", queries: 2, bulk_queries: 0, rows: 2, errors: 1, storage_gib_hours: 0 },
      { label: "server/default", queries: 0 },
    ] as object[]);
    for (const { cpu_seconds = 0, wall_seconds = 0, credits } of usage)
      expect([cpu_seconds > 0, wall_seconds > 0, credits]).toEqual([true, true, 0]);
    const lines = readFileSync(out, "utf8").trimEnd().split("\n");
    expect(lines[0]).toBe("Date,Credits,Label,CPU (s),Wall (s),Memory (GiB h),Queries,Bulk Queries,Rows,Errors,Storage (GiB h)");
    expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\d,0,default\/default,[\d.]+,[\d.]+,[\d.e-]+,2,0,2,1,0$/);
    expect((await svc("usage/export", ["--csv"])).stdout.split("\n").slice(0, 2)).toEqual([
      lines[0] ?? "",
      expect.stringMatching(/,2,0,2,1,0$/),
    ]);
    expect((await svc("usage/export", ["--start", "1h", "--end", "2h"])).exitCode).toBe(2);
    const monthly = (await svc("usage/export", ["--period", "monthly", "--group-by", "instance"])).stdout.split("\n");
    expect(monthly[1]).toMatch(/^\d{4}-\d\d +0 +query /);
    expect(monthly[2]).toMatch(/^\d{4}-\d\d +0 +server /);
  });

  test("the table fits into 80 columns", async () => {
    const { stdout } = await runCommand("usage/export", [], { ...platform, terminal: true, columns: 80 });
    const [header = "", ...rows] = stdout.trimEnd().split("\n");
    expect(header).toMatch(/Date +Credits +Label +CPU s +RAM GiB h +Queries +Disk GiB h/);
    expect([rows.length, Math.max(...[header, ...rows].map((line) => Bun.stringWidth(line))) <= 80]).toEqual([2, true]);
  });

  test("a terminal shows CPU time by day where nothing has a rate", async () => {
    const db = new Database(join(platform.home, "data/meta.db"));
    const [columns, day] = ["resource_group, kind, cpu_ms, wall_ms, memory_byte_ms, queries, rows, errors", "date(day, '-3 days')"];
    db.run(`insert into usage_day select ${day}, environment_id, ${columns}, storage_byte_ms from usage_day`);
    try {
      const { stdout } = await runCommand("usage/export", [], { ...platform, terminal: true, columns: 80 });
      const lines = stdout.split("\n");
      expect(lines[0]).toBe("CPU seconds by day");
      expect(lines.slice(1, 11).at(-1)).toMatch(/^ *0 \+#{17,19} {34,38}#{17,19}$/);
    } finally {
      db.run("delete from usage_day where day <> (select max(day) from usage_day)");
      db.close();
    }
  });

  test("is added up by a label of the environments' configurations, and the rest as (none)", async () => {
    const file = join(tempFolder("svc-labels-"), "environment.yaml");
    writeFileSync(file, "labels: {team: search, constructor: x}\n");
    const updated = await svc("environment/update", ["-f", file, "--force"]);
    expect([updated.exitCode, updated.stderr.includes("not applied")]).toEqual([0, false]);
    const labels = async (key: string) => {
      const { usage } = (await svc("usage/export", ["--label", key, "--json"])).json() as { usage: { label: string; queries: number }[] };
      return usage.map(({ label, queries }) => [label, queries]);
    };
    expect(await labels("team")).toEqual([
      ["(none)", 0],
      ["search", 2],
    ]);
    expect(await labels("nothing")).toEqual([["(none)", 2]]);
    expect(await labels("toString")).toEqual([["(none)", 2]]);
    for (const words of [
      ["--label", ""],
      ["--label", "team", "--group-by", "cluster"],
      ["--csv", "--json"],
    ])
      expect((await svc("usage/export", words)).exitCode).toBe(2);
    expect((await svc("usage/export", ["--label", "x".repeat(101)])).stderr).toContain("The key of a label has 1 to 100 characters.");
  });

  test("instances and lifetimes have what runs and what ran", async () => {
    expect((await svc("usage/instances", ["--format", "csv"])).stdout).toMatch(
      new RegExp(`^Machine,Processes,CPU \\(s\\),Memory \\(bytes\\),Since\n${hostname()},[2-9],`),
    );
    const { pods: lifetimes } = (await svc("usage/resource-group/pods", ["--service-kind", "worker", "--json"])).json() as {
      pods: { workload_type: string; outcome: string }[];
    };
    expect([...new Set(lifetimes.map(({ workload_type }) => workload_type))]).toEqual(["worker"]);
    expect(lifetimes.some(({ outcome }) => outcome === "crashed")).toBe(true);
    expect((await svc("usage/resource-group/pods", ["--resource-group", "none"])).stderr).toContain("No pods found.");
  });

  test("rates and bundles are those of server.yaml; a mistake there is refused at the start", async () => {
    expect((await svc("usage/rates")).stderr).toContain("No machine rates found.");
    const home = tempFolder("svc-rates-");
    const file = join(home, "data/server.yaml");
    mkdirSync(join(home, "data"), { recursive: true, mode: 0o700 });
    const options = {
      port: 0,
      dataDir: join(home, "data"),
      home,
      clock: systemClock,
      env: { PATH: process.env.PATH },
      log: () => undefined,
    };
    const begin = () => start({ ...options, version: "v0.0.0-test" });
    for (const [yaml, problem] of [
      ["usage: {rate: []}", "usage has the key 'rate'"],
      ["usage: {credits_per_million_queries: -1}", "usage.credits_per_million_queries is not a number of at least 0."],
      ["usage: {credits_per_gib_month: much}", "usage.credits_per_gib_month is not a number of at least 0."],
      ["usage: {credits_per_queries: 1}", "usage has the key 'credits_per_queries'"],
      ["usage: {machine: m5}", "usage.machine is 'm5', for which usage.rates has no rate."],
      ["usage: {rates: [{cloud: aws, machine: m5, vcpus: 0, memory_gb: 8, credits_per_hour: 1}]}", "usage.rates[0].vcpus is not a number"],
      ["usage: {bundles: [{id: b, purchase_date: 2026-13-01, credits: 1}]}", "usage.bundles[0].purchase_date is not a day."],
    ] as const) {
      writeFileSync(file, yaml);
      await expect(begin()).rejects.toThrow(problem);
    }
    writeFileSync(
      file,
      "usage:\n  machine: m5\n  rates:\n    - {cloud: aws, machine: m5, vcpus: 2, memory_gb: 8, credits_per_hour: 3600000}\n" +
        "  credits_per_million_queries: 0.25\n  credits_per_gib_month: 2\n" +
        "  bundles:\n    - {id: b-1, purchase_date: 2020-01-01, credits: 1e9, price: 100 EUR}\n",
    );
    const server = await begin();
    try {
      await server.ready;
      const created = server.initialCredentials;
      const env = { SVC_CLIENT_ID: created?.clientId ?? "", SVC_CLIENT_SECRET: created?.clientSecret ?? "", SVC_API_SERVER: server.url };
      const priced = (path: string, words: readonly string[] = []) => runCommand(path, words, { home, env });
      expect((await priced("usage/rates")).stdout).toMatch(
        /^Cloud +Machine +vCPUs +Memory \(gb\) +Credits\/hr\naws +m5 +2 +8 +3600000\nCredits for a million queries: 0.25\nCredits for a GiB stored for a month: 2\n$/,
      );
      const { usage } = (await priced("usage/export", ["--json"])).json() as { usage: { credits: number; cpu_seconds: number }[] };
      expect(usage.length).toBe(1);
      expect(usage[0]?.credits).toBeCloseTo(500 * (usage[0]?.cpu_seconds ?? 0), 5);
      const { bundles } = (await priced("usage/bundles", ["--json"])).json() as { bundles: { remaining: number }[] };
      expect((bundles[0]?.remaining ?? 1e9) < 1e9).toBe(true);
      const onTerminal = () => runCommand("usage/export", [], { home, env, terminal: true, columns: 80 });
      expect((await onTerminal()).stdout).toStartWith("Date");
      const db = new Database(join(home, "data/meta.db"));
      const [columns, day] = ["resource_group, kind, cpu_ms, wall_ms, memory_byte_ms, queries, rows, errors", "date(day, '-3 days')"];
      db.run(`insert into usage_day select ${day}, environment_id, ${columns}, storage_byte_ms from usage_day`);
      db.close();
      const chart = (await onTerminal()).stdout.split("\n");
      expect(chart[0]).toBe("Credits by day");
      expect(chart.slice(1, 11).at(-1)).toMatch(/^ *0 \+#{17,19} {34,38}#{17,19}$/);
      expect(chart.findIndex((line) => line.startsWith("Date"))).toBe(14);
      expect(Math.max(...chart.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(80);
      expect((await priced("usage/export")).stdout).toStartWith("Date");
    } finally {
      await server.stop();
    }
  });
});
