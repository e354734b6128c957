/** Hints of changes over the wire: who gets which, and when a stream ends. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { AuthService } from "../../../../gen/svc/v1/auth_pb.ts";
import { EnvironmentService } from "../../../../gen/svc/v1/environment_pb.ts";
import { LogService } from "../../../../gen/svc/v1/log_pb.ts";
import { MonitorService } from "../../../../gen/svc/v1/monitor_pb.ts";
import { QueryService } from "../../../../gen/svc/v1/query_pb.ts";
import { ResolverRunService } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { ScheduledQueryService } from "../../../../gen/svc/v1/scheduled_query_pb.ts";
import { ServiceTokenService } from "../../../../gen/svc/v1/service_token_pb.ts";
import { type WatchResponse, WatchService, WatchTopic } from "../../../../gen/svc/v1/watch_pb.ts";
import { exchange, openSession, type TestSession } from "../../../harness/browser-session.ts";
import { eventually } from "../../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../../deployments/deploying.ts";
import { Cluster } from "../../nodes/two-nodes.ts";
import { scheduledProject } from "../../resolver-runs/worlds.ts";

const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  await server.server.ready;
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** A stream that is read as it comes. */
interface Watched {
  readonly messages: WatchResponse[];
  /** Why it ended; undefined as long as it has not. */
  readonly ended: () => ConnectError | "by itself" | undefined;
  readonly close: () => void;
}

function watch(
  at: TestServer,
  topics: WatchTopic[],
  { cursor = "", ...as }: { cursor?: string; token?: string | null; headers?: Record<string, string> } = {},
): Watched {
  const messages: WatchResponse[] = [];
  const closing = new AbortController();
  let end: ConnectError | "by itself" | undefined;
  const read = async (): Promise<void> => {
    for await (const message of at.client(WatchService, as).watch({ topics, cursor }, { signal: closing.signal })) messages.push(message);
  };
  read().then(
    () => (end = "by itself"),
    (error: unknown) => (end = ConnectError.from(error)),
  );
  return { messages, ended: () => end, close: () => closing.abort() };
}

const ofSession = ({ headers }: TestSession) => ({ token: null, headers: { ...headers } });
const begun = (watched: Watched) => eventually(() => watched.messages.length > 0, "the stream begins");
const hears = (watched: Watched, topic: WatchTopic) =>
  eventually(() => watched.messages.some(({ topics }) => topics.includes(topic)), `a hint of ${WatchTopic[topic]}`);
const endsWith = async (watched: Watched, code: Code) => {
  await eventually(() => watched.ended() !== undefined, "the stream ends");
  expect(watched.ended()).toMatchObject({ code });
};

describe("hints", () => {
  test("come of a deployment, its job, the query of it, its line and metrics, and go on from a cursor", async () => {
    const { DEPLOYMENTS, LOGS, METRICS, MONITORS, QUERIES, RUNS } = WatchTopic;
    const all = [DEPLOYMENTS, RUNS, QUERIES, LOGS];
    const watched = watch(server, all);
    const monitors = watch(server, [MONITORS]);
    await Promise.all([begun(watched), begun(monitors)]);
    const { cursor } = watched.messages[0] as WatchResponse;
    expectLive(await deploy(server, GREETING));
    await Promise.all([hears(watched, DEPLOYMENTS), hears(watched, RUNS), hears(watched, LOGS)]);
    await server
      .client(QueryService)
      .query({ inputs: [{ feature: "user.id", value: { case: "text", value: "1" } }], outputs: ["user.name"] });
    await hears(watched, QUERIES);
    watched.close();
    const again = watch(server, all, { cursor });
    await begun(again);
    expect(again.messages[0]).toMatchObject({ missed: false });
    expect(new Set(again.messages[0]?.topics)).toEqual(new Set(all));
    const metrics = watch(server, [METRICS]);
    await hears(metrics, METRICS);
    expect(monitors.messages.flatMap(({ topics }) => topics)).toEqual([]);
    for (const one of [again, monitors, metrics]) one.close();
  }, 300_000);

  test("come when a schedule of a resolver or a query is paused, and when it is resumed", async () => {
    const project = scheduledProject(folder.path, "0 7 1 1 *");
    const query = `
from svc.queries import ScheduledQuery

ScheduledQuery(name="labels", schedule="30 2 1 1 *", output=[User.label], store_online=False)
`;
    expectLive(await deploy(server, { ...project, "features.py": `${project["features.py"]}${query}` }));
    const runs = server.client(ResolverRunService);
    const queries = server.client(ScheduledQueryService);
    await eventually(async () => {
      const [{ resolvers }, { scheduledQueries }] = await Promise.all([runs.listScheduledResolvers({}), queries.listScheduledQueries({})]);
      return resolvers[0]?.nextRunAt !== undefined && scheduledQueries[0]?.nextRunAt !== undefined;
    }, "the next runs are planned");
    const watched = watch(server, [WatchTopic.SCHEDULES]);
    await begun(watched);
    for (const change of [
      () => runs.pauseScheduledResolver({ resolver: "everyone" }),
      () => runs.resumeScheduledResolver({ resolver: "everyone" }),
      () => queries.pauseScheduledQuery({ name: "labels" }),
      () => queries.resumeScheduledQuery({ name: "labels" }),
    ]) {
      watched.messages.length = 0;
      await change();
      await hears(watched, WatchTopic.SCHEDULES);
    }
    watched.close();
  }, 300_000);

  test("come when a monitor is silenced, and when it is heard again", async () => {
    const MONITOR = 'from svc import Monitor\n\nMonitor("busy", "sum:query.count", above=5)\n';
    expectLive(await deploy(server, { ...GREETING, "monitors.py": MONITOR }));
    const monitors = server.client(MonitorService);
    const watched = watch(server, [WatchTopic.MONITORS]);
    await begun(watched);
    for (const change of [
      () => monitors.silenceMonitor({ name: "busy", end: { case: "duration", value: { seconds: 60n } } }),
      () => monitors.endMonitorSilence({ name: "busy" }),
    ]) {
      watched.messages.length = 0;
      await change();
      await hears(watched, WatchTopic.MONITORS);
    }
    watched.close();
  }, 300_000);

  test("are of one environment, and nobody hears of one that he may not reach", async () => {
    const { environment } = await server.client(EnvironmentService).createEnvironment({ name: "other" });
    const { clientSecret, serviceToken } = await server
      .client(ServiceTokenService)
      .createServiceToken({ name: "limited", permissions: ["read"], environments: [environment?.name ?? ""] });
    const token = await exchange(server.url, serviceToken?.clientId ?? "", clientSecret);
    const own = watch(server, [WatchTopic.DEPLOYMENTS, WatchTopic.RUNS], { token });
    const refused = watch(server, [WatchTopic.RUNS], { token, headers: { "svc-environment": "production" } });
    const unnamed = watch(server, [], { token });
    const twice = watch(server, [WatchTopic.RUNS, WatchTopic.RUNS], { token });
    const lines = watch(server, [WatchTopic.LOGS], { token });
    await endsWith(refused, Code.PermissionDenied);
    await endsWith(lines, Code.PermissionDenied);
    await endsWith(unnamed, Code.InvalidArgument);
    await endsWith(twice, Code.InvalidArgument);
    await begun(own);
    const whole = watch(server, [WatchTopic.RUNS]);
    await begun(whole);
    whole.messages.length = 0;
    expectLive(await deploy(server, GREETING));
    await hears(whole, WatchTopic.RUNS);
    expect(own.messages.flatMap(({ topics }) => topics)).toEqual([]);
    for (const one of [own, whole]) one.close();
  }, 300_000);
});

describe("a stream ends", () => {
  test("when its session does, and goes on in others", async () => {
    const [one, other] = await Promise.all([0, 1].map(async () => openSession(server.url, await server.token())));
    const watched = watch(server, [WatchTopic.RUNS], ofSession(one as TestSession));
    const kept = watch(server, [WatchTopic.RUNS], ofSession(other as TestSession));
    let lines = 0;
    const tail = async (): Promise<unknown> => {
      for await (const _ of server.client(LogService, ofSession(one as TestSession)).tailLogs({})) lines++;
      return undefined;
    };
    const tailEnd = tail().catch((error: unknown) => ConnectError.from(error).code);
    await Promise.all([begun(watched), begun(kept), eventually(() => lines > 0, "the tail begins")]);
    await server.client(AuthService, ofSession(one as TestSession)).endSession({});
    await endsWith(watched, Code.Unauthenticated);
    expect(await tailEnd).toBe(Code.Unauthenticated);
    expect(kept.ended()).toBeUndefined();
    kept.close();
  });

  test("when its client is deleted or may do less, but not because its token expires", async () => {
    const tokens = server.client(ServiceTokenService);
    const { clientSecret, serviceToken } = await tokens.createServiceToken({ name: "short", permissions: ["read", "query.online"] });
    const id = serviceToken?.clientId ?? "";
    const token = await exchange(server.url, id, clientSecret);
    const watched = watch(server, [WatchTopic.RUNS], { token });
    await begun(watched);
    await tokens.updateServiceToken({ id, permissions: ["read"] });
    await endsWith(watched, Code.Aborted);
    const again = watch(server, [WatchTopic.RUNS], { token });
    await begun(again);
    await tokens.deleteServiceToken({ id });
    await endsWith(again, Code.Unauthenticated);
  });

  test("when its session opens a fifth one: the oldest", async () => {
    const session = await openSession(server.url, await server.token());
    const watched: Watched[] = [];
    for (let at = 0; at < 5; at++) {
      const one = watch(server, [WatchTopic.RUNS], ofSession(session));
      await begun(one);
      watched.push(one);
    }
    await endsWith(watched[0] as Watched, Code.ResourceExhausted);
    expect(watched.slice(1).map(({ ended }) => ended())).toEqual([undefined, undefined, undefined, undefined]);
    for (const one of watched) one.close();
  });

  test("when the server stops, and a cursor of before means nothing to the next one", async () => {
    using own = new TempFolder();
    const first = await TestServer.start(own.path);
    const watched = watch(first, [WatchTopic.RUNS, WatchTopic.LOGS]);
    await begun(watched);
    await first[Symbol.asyncDispose]();
    // Its last words, or the connection's end, whichever is first.
    await eventually(() => watched.ended() !== undefined, "the stream ends");
    expect([Code.Unavailable, Code.Unknown]).toContain((watched.ended() as ConnectError).code);
    await using second = await TestServer.start(own.path, { credentials: first.credentials });
    const again = watch(second, [WatchTopic.RUNS, WatchTopic.LOGS], { cursor: watched.messages.at(-1)?.cursor ?? "" });
    await begun(again);
    expect(again.messages[0]).toMatchObject({ missed: true, topics: [WatchTopic.RUNS, WatchTopic.LOGS] });
    again.close();
  });
});

test("a node hears of what changes on another, and ends streams of sessions that end there", async () => {
  await using cluster = new Cluster();
  const [one, two] = [await cluster.start("one"), await cluster.start("two")];
  const watched = watch(two, [WatchTopic.DEPLOYMENTS, WatchTopic.RUNS]);
  const tokens = one.client(ServiceTokenService);
  const { clientSecret, serviceToken } = await tokens.createServiceToken({ name: "reader", permissions: ["read"] });
  const token = await exchange(two.url, serviceToken?.clientId ?? "", clientSecret);
  const doomed = watch(two, [WatchTopic.RUNS], { token });
  await Promise.all([begun(watched), begun(doomed)]);
  expectLive(await deploy(one, GREETING));
  await Promise.all([hears(watched, WatchTopic.DEPLOYMENTS), hears(watched, WatchTopic.RUNS)]);
  await tokens.deleteServiceToken({ id: serviceToken?.clientId ?? "" });
  await endsWith(doomed, Code.Unauthenticated);
  watched.close();
}, 300_000);
