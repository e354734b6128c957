import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/context/system-clock.ts";
import { start } from "../../src/server/boot/start.ts";
import { tempFolder } from "../client/test-context.ts";
import { exchange } from "../harness/browser-session.ts";
import { eventually } from "../harness/eventually.ts";
import { lacks } from "../harness/needs.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.server.stop());

const svc = (path: string, words: readonly string[] = [], options: object = {}) => runCommand(path, words, { ...platform, ...options });
const described = async (name: string): Promise<Record<string, unknown>> =>
  Bun.YAML.parse((await svc(`infra/describe/${name}`)).stdout) as Record<string, unknown>;

/** Writes a spec; returns its path. */
function spec(text: string): string {
  const path = join(tempFolder("svc-infra-"), "spec.yaml");
  writeFileSync(path, text);
  return path;
}

/** Calls the service as a program does, without the client. */
async function caller({ env, url }: Platform) {
  const token = await exchange(url, env.SVC_CLIENT_ID ?? "", env.SVC_CLIENT_SECRET ?? "");
  return async (method: string, body: object): Promise<{ status: number; body: unknown }> => {
    const answer = await fetch(`${url}/svc.v1.InfraService/${method}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  };
}

/** The same platform after its server was stopped and started again. */
async function restarted(before: Platform): Promise<Platform> {
  await before.server.stop();
  const server = await start({
    port: 0,
    dataDir: join(before.home, "data"),
    home: join(before.home, ".svc"),
    clock: systemClock,
    env: { PATH: process.env.PATH, HOME: before.home },
    log: () => undefined,
    version: "v0.0.0-test",
  });
  return { ...before, server, url: server.url, env: { ...before.env, SVC_API_SERVER: server.url } };
}

describe("describing", () => {
  test("each component tells what runs, as YAML and as JSON", async () => {
    expect(await described("metrics")).toMatchObject({
      database_name: "telemetry.db",
      database_replicas: 1,
      storage: "2Gi",
      status: { state: "running", driver: "sqlite", schema_version: 3, dropped_records: 0, size_bytes: expect.any(Number) },
    });
    expect(await described("persistence")).toMatchObject({
      writers: [{ name: "online-store" }, { name: "offline-store" }],
      status: { state: "running", writers: [{ pending_values: 0, dropped_values: 0 }, { driver: "sqlite" }] },
    });
    expect(await described("gateway")).toMatchObject({
      listeners: [
        { name: "http", port: platform.server.port, protocol: "HTTP" },
        { name: "grpc", protocol: "GRPC" },
        { name: "gateway", protocol: "GATEWAY" },
      ],
      status: { addresses: [platform.url, platform.server.grpcUrl, platform.server.gatewayUrl] },
    });
    expect(await described("kafka-topics")).toMatchObject({ topics: [] });
    expect(await described("telemetry")).toMatchObject({ status: { state: "running" } });
    const json = (await svc("infra/describe/gateway", ["--json"])).json();
    expect(json).toMatchObject({ listeners: [{ port: platform.server.port }, { name: "grpc" }, { name: "gateway" }] });
  });

  test("volumes are the folders of the data directory, with the bytes that they take", async () => {
    const folder = join(platform.home, "data", "deployments", "extra");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "file"), Buffer.alloc(3_000_000, 1));
    const { volumes } = (await described("volumes")) as {
      volumes: { metrics: { used_bytes: number; capacity_bytes: number }; spec: { name: string; claim: string } }[];
    };
    expect(volumes.map(({ spec: { name } }) => name)).toContain("data");
    const found = volumes.find(({ spec: { name } }) => name === "deployments");
    expect(found?.spec.claim).toBe(join(platform.home, "data", "deployments"));
    expect(found?.metrics.used_bytes).toBeGreaterThanOrEqual(3_000_000);
    expect(found?.metrics.capacity_bytes).toBeGreaterThan(found?.metrics.used_bytes ?? 0);
  });

  test("a namespace is an environment; an unknown one is refused", async () => {
    expect((await svc("infra/describe/telemetry", ["default"])).stdout).toContain("namespace: default");
    const unknown = await svc("infra/describe/telemetry", ["defualt"]);
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining("did you mean 'default'?")]);
  });
});

describe("applying", () => {
  test("a change is shown, asked for, and acts where it means something here", async () => {
    const refused = await svc("infra/apply/metrics", ["--storage", "64Mi"], { input: ["n"] });
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('@ [storage]\n- "2Gi"\n+ "64Mi"')]);
    expect(await described("metrics")).toMatchObject({ storage: "2Gi" });
    const done = await svc("infra/apply/metrics", ["--storage", "64Mi", "--replicas", "3", "--yes"]);
    expect(done.stdout).toBe(
      'Changes to spec:\n@ [database_replicas]\n- 1\n+ 3\n@ [storage]\n- "2Gi"\n+ "64Mi"\n\ndatabase_replicas: recorded, not applied\nstorage: applied\n',
    );
    expect(await described("metrics")).toMatchObject({
      storage: "64Mi",
      database_replicas: 3,
      status: { max_size_bytes: 64 * 2 ** 20, recorded_not_applied: ["database_replicas"] },
    });
    const again = await svc("infra/apply/metrics", ["--storage", "64Mi"]);
    expect([again.exitCode, again.stdout]).toEqual([0, "No changes: the spec is as given already.\n"]);
    const file = spec("storage: null\ndatabaseReplicas: null\n");
    expect((await svc("infra/apply/metrics", ["--file", file, "--yes"])).exitCode).toBe(0);
    expect(await described("metrics")).toMatchObject({ storage: "2Gi", database_replicas: 1, status: { max_size_bytes: 2 ** 31 } });
  });

  test("how long each kind of record is kept acts, and is the kind's alone", async () => {
    const kinds = { "": [], log_: ["logs"], trace_: ["traces"], metric_: ["metrics_store"] } as const;
    const bounds = async () => {
      const { status, ...own } = await described("metrics");
      return Object.entries(kinds).map(([prefix, [place]]) => {
        const at = (place === undefined ? status : (status as Record<string, unknown>)[place]) as Record<string, unknown>;
        return [own[`${prefix}retention`], at.max_age, own[`${prefix}storage`], at.max_size_bytes];
      });
    };
    const gibibyte = 2 ** 30;
    expect(await bounds()).toEqual([
      ["14d", "14d", "2Gi", 2 * gibibyte],
      ["14d", "14d", "1Gi", gibibyte],
      ["7d", "7d", "1Gi", gibibyte],
      ["366d", "366d", "512Mi", gibibyte / 2],
    ]);
    for (const [at, prefix] of Object.keys(kinds).entries()) {
      const before = await bounds();
      const wanted = [`${at + 2}h`, `${at + 2}h`, `${at + 100}Mi`, (at + 100) * 2 ** 20];
      const file = spec(`${prefix}retention: ${at + 2}h\n${prefix}storage: ${at + 100}Mi\n`);
      expect((await svc("infra/apply/metrics", ["--file", file, "--yes"])).stdout.match(/: applied$/gm)).toHaveLength(2);
      await eventually(async () => Bun.deepEquals(await bounds(), before.with(at, wanted)), `${prefix} acts`);
    }
    const none = Object.keys(kinds).flatMap((prefix) => [`${prefix}retention: null`, `${prefix}storage: null`]);
    expect((await svc("infra/apply/metrics", ["--file", spec(none.join("\n")), "--yes"])).exitCode).toBe(0);
    for (const prefix of Object.keys(kinds)) {
      const { exitCode, stderr } = await svc("infra/apply/metrics", ["--file", spec(`${prefix}retention: 1m`), "--yes"]);
      expect([exitCode, stderr]).toEqual([
        1,
        expect.stringContaining(`${prefix}retention is "1m", and has to be a duration of at least an hour`),
      ]);
    }
  });

  test("what describe prints changes nothing when it is applied", async () => {
    for (const name of ["metrics", "persistence", "gateway", "kafka-topics", "telemetry"]) {
      const { stdout } = await svc(`infra/describe/${name}`);
      const applied = await svc(`infra/apply/${name}`, ["--file", spec(stdout)]);
      expect([name, applied.exitCode, applied.stdout]).toEqual([name, 0, "No changes: the spec is as given already.\n"]);
    }
  });

  test("topics are listed, and items are told apart by their names", async () => {
    const first = await svc("infra/apply/kafka-topics", ["--file", spec("topics: [{name: a, partitions: 3}, {name: b}]"), "--yes"]);
    expect(first.stdout).toContain('Topics to create:\n  a {"name":"a","partitions":3}\n  b {"name":"b"}');
    expect(first.stdout).not.toContain("not applied");
    const second = await svc("infra/apply/kafka-topics", ["--file", spec("topics: [{name: a, retentionMs: 60000}, {name: c}]"), "--yes"]);
    expect(second.stdout).toContain("Topics to create:\n  c");
    expect(second.stdout).toContain('Topics to update:\n  a {"name":"a","partitions":3,"retention_ms":60000}');
    const { topics, status } = await described("kafka-topics");
    expect(topics).toEqual([{ name: "a", partitions: 3, retention_ms: 60_000 }, { name: "b" }, { name: "c" }]);
    expect(status).toMatchObject({ state: "running", driver: "sqlite", topics: 0, removed_messages: 0 });
  });

  test("topics act: they can be pushed to in their partitions, grow, and never shrink", async () => {
    const apply = (text: string) => svc("infra/apply/kafka-topics", ["--file", spec(text), "--yes"]);
    expect((await apply("topics: [{name: grown, partitions: 2}]")).exitCode).toBe(0);
    const push = () => svc("topic/push", ["--topic", "grown", "--value", "{}"]);
    expect((await push()).stdout).toBe("Pushed message to 'grown'\n");
    const fewer = await apply("topics: [{name: grown, partitions: 1}]");
    expect([fewer.exitCode, fewer.stderr]).toEqual([
      1,
      expect.stringContaining("The topic 'grown' has 2 partitions, and a topic never loses any."),
    ]);
    expect((await apply("topics: [{name: grown, partitions: 4}]")).exitCode).toBe(0);
    expect((await push()).exitCode).toBe(0);
    const again = await apply("topics: [{name: grown, partitions: 3}]");
    expect(again.stderr).toContain("has 4 partitions");
    expect((await described("kafka-topics")).status).toMatchObject({ topics: 1 });
  });

  test.each([
    ["topics: [{name: 'a b'}]", "has a name that no topic can have"],
    ["topics: [{name: a, partitions: 0}]", "has partitions: 0, and can have 1 to 1000"],
    ["topics: [{name: a, replication: 3}]", "has replication: 3, and this server keeps every message once"],
    ["topics: [{name: a, retention_ms: 5}]", "has retention_ms: 5, and can have 1000 to"],
  ])("a topic that could not act is refused: %s", async (text, words) => {
    const { exitCode, stderr } = await svc("infra/apply/kafka-topics", ["--file", spec(text), "--yes"]);
    expect([exitCode, stderr]).toEqual([expect.any(Number), expect.stringContaining(words)]);
    expect(exitCode).not.toBe(0);
  });

  test("a collector's configuration is recorded, for a namespace alone", async () => {
    const collector = spec("exporters: {otlp: {endpoint: collector:4317}}\n");
    const file = spec("namespace: default\notel: {limit: {cpu: 500m}}\n");
    expect((await svc("infra/apply/telemetry", ["--file", file, "--customer-collector", collector, "--yes"])).exitCode).toBe(0);
    const of = async (...words: string[]) => (await svc("infra/describe/telemetry", [...words, "--json"])).json();
    expect(await of("default")).toMatchObject({ otel: { limit: { cpu: "500m" } }, customer_collector: { exporters: { otlp: {} } } });
    expect(await of()).not.toHaveProperty("otel");
  });

  test.each([
    ["metrics", "storge: 1Gi", "did you mean 'storage'?"],
    ["metrics", "storage: 1Ki", "at least 8Mi"],
    ["metrics", "limit: {cpu: lots}", 'limit.cpu is "lots"'],
    ["metrics", "poolSize: 1", "There is no key"],
    ["metrics", "storage: 64Mi\nlimit: {cpu: 1, CPU: 2}", "There is no key"],
    ["metrics", "database_replicas: 2\ndatabaseReplicas: 3", "given twice"],
    ["persistence", "writers: [{default_replica_count: 1}]", "writers[0] has no name"],
    ["gateway", "listeners: [{name: a}, {name: a}]", 'two items with the name "a"'],
    ["gateway", "__proto__: {}", "There is no key"],
    ["gateway", "listeners: {name: a}", "a list of at most"],
  ])("%s: %s is refused", async (name, text, words) => {
    const refused = await svc(`infra/apply/${name}`, ["--file", spec(text), "--yes"]);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining(words)]);
  });

  test("without a file or a flag, and below one replica, it is a usage error", async () => {
    expect((await svc("infra/apply/metrics")).exitCode).toBe(2);
    expect((await svc("infra/apply/metrics", ["--replicas", "0"])).exitCode).toBe(2);
    expect((await svc("infra/apply/gateway")).exitCode).toBe(2);
  });

  test("a change that somebody else made meanwhile is not overwritten", async () => {
    const call = await caller(platform);
    const compared = await call("CompareComponent", { component: "COMPONENT_GATEWAY", spec: '{"namespace":"one"}' });
    expect((await svc("infra/apply/gateway", ["--file", spec("namespace: two"), "--yes"])).exitCode).toBe(0);
    const { etag } = compared.body as { etag: string };
    const stale = await call("ApplyComponent", { component: "COMPONENT_GATEWAY", spec: '{"namespace":"one"}', etag });
    expect([stale.status, (stale.body as { code: string }).code]).toEqual([409, "aborted"]);
    expect(await described("gateway")).toMatchObject({ namespace: "two" });
  });
});

test("a migration that there is not is said to be none", async () => {
  const { stdout } = await svc("infra/migrate/metrics", ["--yes"]);
  expect(stdout).toBe("Nothing to migrate: the metrics database has schema 3, the newest.\n");
});

const PARSE = `
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
text = sys.stdin.read()
list(prometheus(text))
print(json.dumps([[s.name, dict(s.labels), s.value] for f in openmetrics(text) for s in f.samples]))
`;
const hasParser = Bun.spawnSync(["python3", "-c", "import prometheus_client"], { stderr: "ignore" }).success;

describe("counters", () => {
  test.skipIf(lacks("prometheus_client", hasParser))("Prometheus' own parsers read them", async () => {
    for (const name of ["metrics", "gateway", "volumes"]) {
      const { stdout } = await svc(`infra/stats/${name}`);
      const parsed = Bun.spawnSync(["python3", "-c", PARSE], { stdin: Buffer.from(stdout) });
      expect([name, parsed.stderr.toString(), parsed.exitCode]).toEqual([name, "", 0]);
      const samples = JSON.parse(parsed.stdout.toString()) as [string, object, number][];
      const { length } = (await svc(`infra/stats/${name}`, ["--json"])).json() as unknown[];
      expect(samples.length).toBeGreaterThan(2);
      expect(length).toBeGreaterThanOrEqual(samples.length);
    }
  });

  test("they are live", async () => {
    const refused = async () => {
      const samples = (await svc("infra/stats/gateway", ["--json"])).json() as { name: string; labels: { code?: string }; value: number }[];
      return samples.find(({ name, labels }) => name === "svc_http_requests_total" && labels.code === "404")?.value ?? 0;
    };
    const before = await refused();
    await fetch(`${platform.url}/v1/nothing-here`);
    expect(await refused()).toBe(before + 1);
  });
});

describe("suspending", () => {
  test("tracing: no spans are kept until it is resumed, also over a restart", async () => {
    let own = await startPlatform();
    try {
      const run = (path: string, words: readonly string[] = []) => runCommand(path, words, { ...own });
      expect((await run("apply", ["--force", "--await", "--dir", writeProject()])).exitCode).toBe(0);
      const traced = async (): Promise<unknown> => {
        const token = await exchange(own.url, own.env.SVC_CLIENT_ID ?? "", own.env.SVC_CLIENT_SECRET ?? "");
        const answer = await fetch(`${own.url}/v1/query/online`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` },
          body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.score"], trace: true }),
        });
        const { data, meta } = (await answer.json()) as { data: { value: number }[]; meta: { trace_id?: string } };
        expect(data[0]?.value).toBe(0.5);
        return meta.trace_id;
      };
      expect(await traced()).toBe("a".repeat(32));
      const suspended = await run("infra/suspend/telemetry");
      expect(suspended.stdout).toMatch(/^Suspended telemetry \(cmp_[0-9a-f]{32}\)\n$/);
      expect((await run("infra/suspend/telemetry")).stdout).toStartWith("The component telemetry is suspended already");
      expect(await traced()).toBeUndefined();
      own = await restarted(own);
      await own.server.ready;
      expect(await traced()).toBeUndefined();
      expect((await run("infra/resume/telemetry")).exitCode).toBe(0);
      expect(await traced()).toBe("a".repeat(32));
    } finally {
      await own.server.stop();
    }
  }, 300_000);

  test("persistence: values wait in memory, and are counted when the server stops", async () => {
    let own = await startPlatform();
    try {
      const run = (path: string, words: readonly string[] = []) => runCommand(path, words, { ...own });
      expect((await run("apply", ["--force", "--await", "--dir", writeProject()])).exitCode).toBe(0);
      expect((await run("infra/suspend/persistence", ["--yes"])).exitCode).toBe(0);
      const query = async (id: number) => (await run("query", ["--in", `user.id=${id}`, "--out", "user.name"])).exitCode;
      expect(await query(1)).toBe(0);
      const writers = async () => {
        const { status } = (await run("infra/describe/persistence", ["--json"])).json() as {
          status: { state: string; writers: { pending_values: number }[] };
        };
        return [status.state, ...status.writers.map(({ pending_values }) => pending_values > 0)];
      };
      expect(await writers()).toEqual(["suspended", true, true]);
      own = await restarted(own);
      await own.server.ready;
      expect(await writers()).toEqual(["suspended", false, false]);
      expect(await query(2)).toBe(0);
      expect(await writers()).toEqual(["suspended", true, true]);
      expect((await run("infra/resume/persistence", ["--yes"])).exitCode).toBe(0);
      await eventually(async () => !(await writers()).includes(true), "what waited is written");
      expect(await writers()).toEqual(["running", false, false]);
    } finally {
      await own.server.stop();
    }
  }, 300_000);

  test("the gateway: nothing is answered but health, the login, and resuming it", async () => {
    let own = await startPlatform();
    try {
      const run = (path: string, words: readonly string[] = [], options: object = {}) => runCommand(path, words, { ...own, ...options });
      const kept = await run("infra/suspend/gateway", [], { input: ["n"] });
      expect([kept.exitCode, (await run("infra/describe/gateway")).exitCode]).toEqual([1, 0]);
      expect((await run("infra/suspend/gateway", ["--yes"])).exitCode).toBe(0);
      own = await restarted(own);
      const status = async (path: string, method = "GET") => (await fetch(`${own.url}${path}`, { method })).status;
      expect(await Promise.all(["/health", "/", "/v1/who-am-i", "/v1/nothing"].map((path) => status(path)))).toEqual([200, 503, 503, 503]);
      expect(await status("/svc.v1.QueryService/Query", "POST")).toBe(503);
      const resume = { method: "POST", headers: { "content-type": "application/json" }, body: '{"component":"COMPONENT_GATEWAY"}' };
      expect((await fetch(`${own.url}/svc.v1.InfraService/ResumeComponent`, resume)).status).toBe(401);
      const refused = await run("infra/describe/gateway");
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("svc infra resume gateway")]);
      const other = await run("infra/resume/telemetry");
      expect([other.exitCode, other.stderr]).toEqual([1, expect.stringContaining("gateway is suspended")]);
      expect((await run("infra/resume/gateway", ["--yes"])).stdout).toStartWith("Resumed gateway (cmp_");
      expect((await run("infra/describe/gateway")).exitCode).toBe(0);
    } finally {
      await own.server.stop();
    }
  }, 300_000);
});

describe("permissions", () => {
  test("who may only read sees components and counters, and changes nothing", async () => {
    const env = { SVC_API_SERVER: platform.url };
    const token = ["--access-token", await tokenFor("read")];
    const as = (path: string, words: readonly string[] = []) =>
      runCommand(path, [...words, ...token], { env, home: tempFolder("svc-reader-") });
    for (const path of ["infra/describe/gateway", "infra/stats/metrics"]) expect([path, (await as(path)).exitCode]).toEqual([path, 0]);
    for (const [path, words] of [
      ["infra/apply/metrics", ["--storage", "1Gi", "--yes"]],
      ["infra/migrate/metrics", ["--yes"]],
      ["infra/suspend/telemetry", []],
      ["infra/resume/telemetry", []],
    ] as const) {
      const refused = await as(path, words);
      expect([path, refused.exitCode, refused.stderr]).toEqual([path, 1, expect.stringContaining("infra.write")]);
    }
  });

  test("another who may change them, and no more, does", async () => {
    const token = ["--access-token", await tokenFor("infra.write")];
    const env = { SVC_API_SERVER: platform.url };
    const as = (path: string, words: readonly string[]) => runCommand(path, [...words, ...token], { env, home: tempFolder("svc-writer-") });
    expect((await as("infra/resume/gateway", ["--yes"])).stdout).toStartWith("The component gateway is running already");
    expect((await as("infra/describe/gateway", [])).exitCode).toBe(1);
  });
});

/** A token of the platform's client, restricted to a scope. */
async function tokenFor(scope: string): Promise<string> {
  const { SVC_CLIENT_ID: client_id, SVC_CLIENT_SECRET: client_secret } = platform.env;
  const answer = await fetch(`${platform.url}/v1/oauth/token`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_id, client_secret, grant_type: "client_credentials", scope }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}
