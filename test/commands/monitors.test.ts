/**
 * Monitors from a project's code to the receiver of a webhook: deployed to a real server with a
 * clock that the test moves, evaluated by its own jobs, and shown, tested and silenced by commands.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { EnvironmentService } from "../../gen/svc/v1/environment_pb.ts";
import { ExponentialHistogram } from "../../src/domain/metrics/exponential-histogram.ts";
import { createSqliteMetricStore } from "../../src/server/stores/metrics/sqlite.ts";
import type { MetricStore } from "../../src/server/stores/metrics/store.ts";
import { tempFolder } from "../client/test-context.ts";
import { eventually } from "../harness/eventually.ts";
import { TestServer } from "../harness/running-server.ts";
import { StandingClock } from "../harness/standing-clock.ts";
import { type Received, type Receiver, startReceiver } from "../server/webhooks/receiver.ts";
import { runCommand, writeProject } from "./platform.ts";

const MINUTE = 60_000;
const MONITORS = `from svc import Monitor

Monitor("busy", "sum:query.count{query_name:busy}.rollup(1m)", above=2, for_="1m", notify=["webhook:ops"], severity="critical", owner="ops@example.com")
Monitor("idle", "sum:query.count.rollup(1m)", below=1, description="nobody asks")
Monitor("slow", "p99:query.latency{query_name:busy}.rollup(1h)", above="1m")
`;

interface Standing {
  readonly monitor: { readonly name: string };
  readonly state: string;
  readonly value: number | null;
  readonly silence: { readonly reason: string; readonly client_id: string } | null;
}

const clock = new StandingClock();
/** End of the last minute that was evaluated. */
let evaluated = Math.floor(clock.now() / MINUTE) * MINUTE;
const home = tempFolder("svc-monitors-");
const dir = writeProject({ "monitors.py": MONITORS });
let server: TestServer;
let ops: Receiver;
let all: Receiver;
/** The server's store of metrics, over a connection of its own. */
let recorded: MetricStore;
let environmentId: string;
let applied: string;

beforeAll(async () => {
  [ops, all] = [startReceiver(), startReceiver()];
  server = await TestServer.start(home, {
    ...{ clock, home: join(home, ".svc") },
    env: { PATH: process.env.PATH, HOME: home, SVC_WEBHOOK_ALLOW: "127.0.0.0/8" },
  });
  environmentId = server.credentials.environmentId;
  const path = join(home, "data/metrics.db");
  recorded = createSqliteMetricStore({ path, programVersion: "1", clock });
  await ok("webhook/create", "--name=ops", `--url=${ops.url}`, "--subscriptions=monitor.firing,monitor.resolved");
  await ok("webhook/create", "--name=all", `--url=${all.url}`, "--subscriptions=monitor.firing,monitor.resolved");
  applied = (await ok("apply", "--force", "--await")).stdout;
}, 300_000);
afterAll(async () => {
  await recorded.close();
  await server[Symbol.asyncDispose]();
  ops.stop();
  all.stop();
});

const svc = (path: string, ...words: string[]) => {
  const { clientId, clientSecret } = server.credentials;
  const env = { SVC_CLIENT_ID: clientId, SVC_CLIENT_SECRET: clientSecret, SVC_API_SERVER: server.url };
  return runCommand(path, words, { home, dir, env, clock });
};
async function ok(path: string, ...words: string[]) {
  const done = await svc(path, ...words);
  if (done.exitCode !== 0) throw new Error(`${path}: ${done.stderr}`);
  return done;
}
const standings = async () => ((await ok("monitors/list", "--json")).json() as { readonly monitors: readonly Standing[] }).monitors;
const standing = async (name: string) => (await standings()).find(({ monitor }) => monitor.name === name);

/**
 * Stores a minute with so many queries of a name, as the recorder does, whose timers go by the real
 * time; and moves to the run that evaluates it.
 */
async function minute(queries: number): Promise<void> {
  const at = evaluated;
  evaluated += MINUTE;
  const labels = { query_name: "busy", deployment: "", branch: "" };
  const counted = (count: number) => ({ at, count, sum: count, min: 1, max: 1 });
  await recorded.append([{ environmentId: "", metric: "process.cpu", labels: { node: "n" }, bucket: counted(1) }]);
  if (queries > 0) {
    await recorded.append([{ environmentId, metric: "query.count", labels, bucket: counted(queries) }]);
    const histogram = new ExponentialHistogram();
    histogram.record(0.02);
    const bucket = { ...counted(1), sum: 0.02, min: 0.02, max: 0.02, histogram: histogram.encode() };
    await recorded.append([{ environmentId, metric: "query.latency", labels, bucket }]);
  }
  clock.moveTo(firstRunAfter(evaluated + 10_000));
  const seen = async () => {
    const listed = (await standings()) as readonly (Standing & { readonly evaluated_at: string | null })[];
    return listed.every(({ evaluated_at }) => evaluated_at !== null && Date.parse(evaluated_at) === evaluated);
  };
  await eventually(seen, "the minute is evaluated");
}

/** When the monitors are evaluated next, at a time or after it. */
function firstRunAfter(time: number): number {
  using db = new Database(join(home, "data/meta.db"), { readonly: true });
  const next = db.query<{ at: number }, []>("select next_at as at from schedule where kind = 'evaluate-monitors'").get()?.at ?? time;
  return next + Math.max(0, Math.ceil((time - next) / MINUTE)) * MINUTE;
}

const bodies = ({ received }: Receiver, name: string) =>
  received
    .map(({ body }: Received) => JSON.parse(body) as { readonly subscription: string; readonly payload: { readonly monitor: string } })
    .filter(({ payload }) => payload.monitor === name);

describe("a monitor", () => {
  test("is part of what a deployment changes", () => {
    expect(applied).toMatch(/Added Monitors\nName\nbusy\nidle\nslow\n/);
    expect(applied).toContain("; 3 monitors added");
  });

  test("tells the webhook that it names when it fires, and when it is resolved", async () => {
    await minute(0);
    expect((await standing("busy"))?.state).toBe("ok");
    await minute(3);
    expect(await standing("busy")).toMatchObject({ state: "pending", value: 3 });
    await minute(4);
    expect(await standing("busy")).toMatchObject({ state: "firing", value: 4 });
    await minute(1);
    expect((await standing("busy"))?.state).toBe("ok");
    await eventually(() => bodies(ops, "busy").length === 2, "both events are delivered");
    const payload = { monitor: "busy", severity: "critical", owner: "ops@example.com", above: "2", below: null, unit: "one", labels: {} };
    expect(bodies(ops, "busy")).toMatchObject([
      { subscription: "monitor.firing", payload: { ...payload, value: 4 } },
      { subscription: "monitor.resolved", payload: { ...payload, value: 1 } },
    ]);
    const told = (await ok("webhook/deliveries/list", "--webhook=ops", "--json")).json() as {
      readonly deliveries: readonly { readonly monitor: string }[];
    };
    expect(told.deliveries.filter(({ monitor }) => monitor === "busy")).toHaveLength(2);
    expect(bodies(all, "busy")).toEqual([]);
    await eventually(() => bodies(all, "idle").length >= 2, "what names no webhook is told to all");
    expect(bodies(all, "idle").map(({ subscription }) => subscription)).toEqual(["monitor.firing", "monitor.resolved"]);
  }, 300_000);

  test("is listed with its value and bound", async () => {
    const { stdout } = await ok("monitors/list");
    expect(stdout).toMatch(/^Name +State +Since +Value +Fires +Silenced until\n/);
    expect(stdout).toMatch(/\nbusy +ok +\S+ +1 +above 2 for 1m *\n/);
    expect(stdout).toMatch(/\nidle +ok +\S+ +1 +below 1 *\n/);
    expect(stdout).toMatch(/\nslow +ok +\S+ +[\d.]+m?s +above 1m *\n/);
  });

  test("finds in a test when it fired", async () => {
    const { stderr, stdout } = await ok("monitors/test", "busy", "--since", "30m");
    expect(stderr).toMatch(/above 2 for 1m: 29 evaluations every 1m .* 2 beyond the bound/);
    const [header, ...firings] = stdout.trimEnd().split("\n");
    expect(header).toMatch(/^Fired +Resolved +Series +Worst value$/);
    expect(firings).toEqual([expect.stringMatching(/^\S+Z +\S+Z +- +4$/)]);
    const long = await svc("monitors/test", "busy", "--since", "3d");
    expect([long.exitCode, long.stderr]).toEqual([1, expect.stringContaining("known for 1d23h55m")]);
  });
});

describe("a silence", () => {
  test("is shown with who and why, keeps quiet, and ends", async () => {
    await ok("monitors/silence", "busy", "--for", "2h", "--reason", "a known load");
    expect((await standing("busy"))?.silence).toMatchObject({ reason: "a known load", client_id: server.credentials.clientId });
    const told = bodies(ops, "busy").length;
    await minute(3);
    await minute(3);
    expect((await standing("busy"))?.state).toBe("firing");
    expect(bodies(ops, "busy")).toHaveLength(told);
    const { stdout } = await ok("monitors/silence", "busy", "--end");
    expect(stdout).toMatch(/Name: +busy\nState: +firing\n/);
    await minute(3);
    await eventually(() => bodies(ops, "busy").length === told + 1, "it is told when the silence is over");
    const audited = (await ok("audit/list", "--endpoint", "MonitorService", "--json")).json() as { readonly logs: readonly object[] };
    expect(JSON.stringify(audited.logs)).toContain('"name":"busy"');
  }, 300_000);

  test("of a monitor that there is not, or without an end, is refused", async () => {
    const refused = async (...words: string[]) => {
      const { exitCode, stderr } = await svc("monitors/silence", ...words);
      return [exitCode, stderr.split("\n")[0]];
    };
    expect(await refused("bussy", "--for", "1h")).toEqual([expect.any(Number), expect.stringContaining("did you mean 'busy'?")]);
    expect(await refused("busy")).toEqual([2, expect.stringContaining("nothing says when the silence ends")]);
    expect(await refused("busy", "--for", "1h", "--end")).toEqual([2, expect.stringContaining("only one of --for, --until and --end")]);
    expect(await refused("busy", "--for", "31d")).toEqual([expect.any(Number), expect.stringContaining("at most 30d")]);
    expect(await refused("busy", "--end")).toEqual([expect.any(Number), expect.stringContaining("is not silenced")]);
  });
});

test("a suspended environment's monitors are not evaluated", async () => {
  const before = await standings();
  await server.client(EnvironmentService).suspendEnvironment({});
  const ended = async () => {
    const { jobs } = (await ok("jobs/list", "--kind", "evaluate-monitors", "--state", "completed", "--json")).json() as {
      readonly jobs: readonly object[];
    };
    return jobs.length;
  };
  const count = await ended();
  clock.moveTo(firstRunAfter(evaluated + MINUTE + 10_000));
  await eventually(async () => (await ended()) > count, "the run has ended");
  expect(await standings()).toEqual(before);
  await server.client(EnvironmentService).resumeEnvironment({});
});
