/** Resource groups of an environment: the workers of their resolvers, and what these are given. */

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { ClusterService } from "../../../gen/svc/v1/cluster_pb.ts";
import { type Deployment, DeploymentService, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { GraphService } from "../../../gen/svc/v1/graph_pb.ts";
import { JobService } from "../../../gen/svc/v1/job_pb.ts";
import { LogService } from "../../../gen/svc/v1/log_pb.ts";
import {
  OfflineQueryFormat,
  OfflineQueryService,
  OfflineQueryStatus,
  type StartOfflineQueryRequestSchema,
} from "../../../gen/svc/v1/offline_query_pb.ts";
import { ScheduledQueryService } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import { TopicService } from "../../../gen/svc/v1/topic_pb.ts";
import { UsageService } from "../../../gen/svc/v1/usage_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { seeded } from "../../harness/seed.ts";
import { deploy, expectLive, featureValue, graphBytes, type ProjectFiles } from "./deploying.ts";
import { tinyWheel } from "./tiny-wheel.ts";

/** The environment of a venv is made, of seconds of CPU. */
setDefaultTimeout(300_000);

const GIB = 1024 ** 3;
/** What resolvers say of where they run: a process, the size that variables state, and its limit. */
const FILES = (wheel: string, go: string): ProjectFiles => ({
  "requirements-model.txt": `${wheel}\n`,
  "features.py": `from svc.features import features

@features
class User:
    id: int
    usual: str
    also_usual: str
    big: str
    big_io: str
    small: str
    in_venv: str
    filled: int
    end: int
    next: int
    waited: int

@features
class Event:
    id: int
    at: str
`,
  "where.py": `import os, resource

def here():
    print("in its place")
    return f"{os.getpid()} {os.environ.get('SIZE')} {resource.getrlimit(resource.RLIMIT_AS)[0]}"
`,
  "resolvers.py": `import os, time
from svc import Features, online
from svc.queries import ScheduledQuery
from svc.sources import TopicSource
from svc.streams import stream
from dataclasses import dataclass
from features import Event, User
from where import here

@online
def usual(id: User.id) -> User.usual:
    return here()

@online(resource_group="default")
def also_usual(id: User.id) -> User.also_usual:
    return here()

@online(resource_group="big")
def big(id: User.id) -> User.big:
    return here()

@online(resource_group="big", resource_hint="io")
def big_io(id: User.id) -> User.big_io:
    return here()

@online(resource_group="small")
def small(id: User.id) -> User.small:
    return here()

@online(resource_group="small", venv="model")
def in_venv(id: User.id) -> User.in_venv:
    import tinypkg
    return here()

@online(resource_group="small")
def filled(id: User.id) -> User.filled:
    return len(bytearray(3 * 1024 ** 3))

@online(resource_group="small")
def end(id: User.id) -> User.end:
    os._exit(3)

@online(resource_group="big")
def next(id: User.id) -> User.next:
    return id + 1

@online(timeout="2m")
def waited(id: User.id) -> User.waited:
    open(${JSON.stringify(go)} + ".begun", "w").close()
    while not os.path.exists(${JSON.stringify(go)}):
        time.sleep(0.02)
    return id

@dataclass
class Said:
    id: int

@stream(source=TopicSource(name="said"), resource_group="big")
def on_said(message: Said) -> Features[Event.id, Event.at]:
    return Event(id=message.id, at=here())

ScheduledQuery("nightly", schedule="36500d", output=[User.usual], recompute_features=[User.usual], resource_group="big")
`,
});
const VENVS = [{ name: "model", requirements: "requirements-model.txt" }];
const worker = (settings: object) => ({ services: { worker: settings } });
const GROUPS = {
  resource_groups: [
    {
      resource_group_name: "big",
      ...worker({ replicas: 2, memory: { limits: "4Gi" }, additional_env_vars: { SIZE: "big" } }),
    },
    { resource_group_name: "small", ...worker({ memory: { limits: "1Gi" }, additional_env_vars: { SIZE: "small" } }) },
    { resource_group_name: "idle" },
  ],
};
/** What is true of every worker of a group, as `here` says it. */
const PLACES = { default: "usual -1", big: `big ${4 * GIB}`, small: `small ${GIB}`, idle: "usual -1" } as const;
const GROUP_OF = {
  "user.usual": "default",
  "user.also_usual": "default",
  "user.big": "big",
  "user.big_io": "big",
  "user.small": "small",
  "user.in_venv": "small",
} as const;

const folder = new TempFolder();
/** A file that a resolver waits for. */
const go = join(folder.path, "go");
let server: TestServer;
let live: Deployment;
let files: ProjectFiles;
let offline: Client<typeof OfflineQueryService>;

const configure = async (specs: object): Promise<void> => {
  const environments = server.client(EnvironmentService);
  const { config, environment, etag } = await environments.getEnvironmentConfig({});
  await environments.updateEnvironmentConfig({
    environmentId: environment?.id ?? "",
    config: {
      ...(config as NonNullable<typeof config>),
      specsConfigJson: JSON.stringify(specs),
      additionalEnvVars: { SIZE: "usual" },
    },
    etag,
  });
};

beforeAll(async () => {
  server = await TestServer.start(join(folder.path, "data"), { env: { PATH: process.env.PATH, HOME: process.env.HOME } });
  await configure(GROUPS);
  files = FILES(await tinyWheel(folder.path), go);
  live = await deploy(server, files, { venvs: VENVS });
  expectLive(live);
  offline = server.client(OfflineQueryService);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const ask = (output: string, id?: number): Promise<unknown> => featureValue(server, output, id);
/** The process that answers, and what else it says of its place. */
const placed = async (output: string, id?: number): Promise<readonly [pid: string, place: string]> => {
  const [pid = "", ...place] = String(await ask(output, id)).split(" ");
  return [pid, place.join(" ")];
};
const refusal = async (asked: Promise<unknown>): Promise<string> => {
  const error = await asked.catch((thrown: unknown) => thrown);
  if (!(error instanceof ConnectError)) throw new Error("the call was not refused");
  return error.rawMessage;
};

describe("the workers of a resource group", () => {
  test("run every call of its resolvers, and no other's, with its variables and its memory", async () => {
    const groupOfPid = new Map<string, string>();
    const call = fc.record({ output: fc.constantFrom(...(Object.keys(GROUP_OF) as (keyof typeof GROUP_OF)[])), id: fc.nat(1_000) });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 12 }), async (calls) => {
        const places = await Promise.all(calls.map(async ({ output, id }) => [output, ...(await placed(output, id))] as const));
        for (const [output, pid, place] of places) {
          const group = GROUP_OF[output];
          expect([output, place]).toEqual([output, PLACES[group]]);
          expect([pid, groupOfPid.get(pid) ?? group]).toEqual([pid, group]);
          groupOfPid.set(pid, group);
        }
      }),
      seeded(15),
    );
    expect(new Set(groupOfPid.values())).toEqual(new Set(["default", "big", "small"]));
  });

  test("are as many as it says, of each set of requirements, and are listed with it", async () => {
    const count = async (group: string): Promise<number> => {
      const { pods } = await server.client(ClusterService).listPods({});
      return pods.filter(
        ({ kind, deploymentId, resourceGroup }) => kind === "worker" && deploymentId === live.id && resourceGroup === group,
      ).length;
    };
    await eventually(async () => {
      return Bun.deepEquals(await Promise.all(["default", "big", "small", "idle"].map(count)), [1, 2, 2, 0]);
    }, "the workers of all groups");
    const { pods } = await server.client(UsageService).listPodLifetimes({ resourceGroup: "big", serviceKind: "worker" });
    expect(new Set(pods.map(({ memoryLimit }) => memoryLimit))).toEqual(new Set(["4.3 GB"]));
    const { lines } = await server.client(LogService).searchLogs({ search: "resource_group:small", pageSize: 10 });
    expect(lines.map(({ message, resolver }) => [message, resolver])).toContainEqual(["in its place", "resolvers.small"]);
  });

  test("that fill their memory or die end no other's work", async () => {
    const [[usual], [small]] = [await placed("user.usual"), await placed("user.small")];
    expect(await ask("user.filled")).toContain("MemoryError");
    expect(await ask("user.end")).toContain("resolvers.end");
    await eventually(async () => (await placed("user.small"))[1] === PLACES.small, "a worker in the place of the one that died");
    expect((await placed("user.small"))[0]).not.toBe(small);
    expect((await placed("user.usual"))[0]).toBe(usual);
    expect((await placed("user.big"))[1]).toBe(PLACES.big);
  });

  test("run what the server could compute without Python, and the graph tells of them", async () => {
    expect(await ask("user.next", 4)).toBe(5);
    const { resolver } = await server.client(GraphService).getResolver({ resolver: "resolvers.next" });
    expect(resolver).toMatchObject({ resourceGroup: "big", translated: {}, untranslated: "it runs in the workers of its resource group" });
    const { graph } = await server.client(GraphService).getGraph({});
    expect(graph?.streamResolvers.map(({ fqn, resourceGroup }) => [fqn, resourceGroup])).toEqual([["resolvers.on_said", "big"]]);
  });

  test("run streams", async () => {
    await server.client(TopicService).pushMessages({ topicName: "said", messages: [{ value: new TextEncoder().encode('{"id": 7}') }] });
    await eventually(async () => {
      const { lines } = await server.client(LogService).searchLogs({ search: "resolver:resolvers.on_said", pageSize: 10 });
      return lines.length === 1 && lines[0]?.resourceGroup === "big";
    }, "the line of the stream");
  });

  test("of a deployment that is not live are one of each", async () => {
    const beside = await deploy(server, files, { branch: "try", venvs: VENVS });
    expectLive(beside);
    const { pods } = await server.client(ClusterService).listPods({});
    const own = pods.filter(({ deploymentId }) => deploymentId === beside.id);
    expect(own.map(({ resourceGroup }) => resourceGroup).sort()).toEqual(["big", "default", "small", "small"]);
  });
});

describe("a group that the environment does not have", () => {
  const WRONG = {
    "features.py": "from svc.features import features\n\n@features\nclass User:\n    id: int\n    big: str\n",
    "resolvers.py": `from svc import online
from svc.queries import ScheduledQuery
from features import User

@online(resource_group="bgi")
def big(id: User.id) -> User.big:
    return str(id)

ScheduledQuery("nightly", schedule="1d", output=[User.big], resource_group="night")
`,
  };

  test("fails a deployment, with the groups that there are", async () => {
    const refused = await deploy(server, WRONG, { noPromote: true });
    expect(refused.status).toBe(DeploymentStatus.FAILED);
    expect(refused.diagnostics.map(({ code, message, span }) => [code, message, span?.file])).toEqual([
      [
        209,
        "the resolver 'resolvers.big' runs in resource group 'bgi', and the environment has no resource group 'bgi': did you mean 'big'?",
        "resolvers.py",
      ],
      [
        209,
        "the scheduled query 'nightly' runs in resource group 'night', and the environment has no resource group 'night': it has default, big, small, idle",
        "resolvers.py",
      ],
    ]);
  });

  test("is found before anything is deployed", async () => {
    const graph = graphBytes({ scheduledQueries: [{ name: "nightly", schedule: "1d", resourceGroup: "night" }] });
    const { diagnostics } = await server.client(DeploymentService).validateGraph({ graph });
    expect(diagnostics.map(({ code }) => code)).toEqual([209]);
  });
});

describe("an offline query", () => {
  const rows = { inputs: [{ feature: "user.id", values: [{ feature: "user.id", value: { case: "text" as const, value: "1" } }] }] };
  const ended = async (id = "") => {
    let query: Awaited<ReturnType<typeof offline.getOfflineQuery>>["query"];
    await eventually(async () => {
      query = (await offline.getOfflineQuery({ id })).query;
      return query !== undefined && query.status >= OfflineQueryStatus.COMPLETED;
    }, "the end of the query");
    return query;
  };
  const answerOf = async (id = ""): Promise<Record<string, unknown>> => {
    expect((await ended(id))?.error).toBe("");
    const { file } = await offline.exportOfflineQuery({ id, format: OfflineQueryFormat.JSON });
    return JSON.parse((await (await fetch(new URL(file?.url ?? "", server.url))).text()).split("\n")[0] as string);
  };
  const start = async (more: MessageInitShape<typeof StartOfflineQueryRequestSchema>) =>
    (await offline.startOfflineQuery({ ...rows, outputs: ["user.usual", "user.small"], recompute: true, ...more })).query;
  const placesOf = (answer: Record<string, unknown>) =>
    ["user.usual", "user.small"].map((output) => String(answer[output]).split(" ").slice(1).join(" "));

  test("without a group has each resolver run in its own", async () => {
    expect(placesOf(await answerOf((await start({}))?.id))).toEqual([PLACES.default, PLACES.small]);
  });

  test("with a group has all run there, in jobs that share its slots", async () => {
    const query = await start({ resourceGroup: "big" });
    expect(placesOf(await answerOf(query?.id))).toEqual([PLACES.big, PLACES.big]);
    expect(query?.resourceGroup).toBe("big");
    const { job } = await server.client(JobService).getJob({ id: `${query?.id}.1` });
    expect([job?.resourceGroup.split("/").at(-1), job?.slots]).toEqual(["big", 2]);
    const again = (await offline.retryOfflineQuery({ id: query?.id ?? "" })).query;
    expect(placesOf(await answerOf(again?.id))).toEqual([PLACES.big, PLACES.big]);
    const other = (await offline.retryOfflineQuery({ id: query?.id ?? "", resourceGroup: "small" })).query;
    expect(placesOf(await answerOf(other?.id))).toEqual([PLACES.small, PLACES.small]);
  });

  test("starts the workers of a group that no resolver is in", async () => {
    const answer = await answerOf((await start({ resourceGroup: "idle" }))?.id);
    expect(placesOf(answer)).toEqual([PLACES.idle, PLACES.idle]);
    expect(String(answer["user.usual"]).split(" ")[0]).not.toBe((await placed("user.usual"))[0]);
  });

  test("is refused in a group that there is not", async () => {
    expect(await refusal(start({ resourceGroup: "idel" }))).toContain("no resource group 'idel'");
  });

  test("of a schedule runs in the group of the scheduled query, or in another that is asked for", async () => {
    const scheduled = server.client(ScheduledQueryService);
    await ended((await start({ storeOffline: true }))?.id);
    const run = async (resourceGroup: string) => ended((await scheduled.triggerScheduledQuery({ name: "nightly", resourceGroup })).id);
    const byItself = await run("");
    expect([byItself?.resourceGroup, byItself?.error]).toEqual(["big", ""]);
    const said = `operation_id:${byItself?.id}`;
    await eventually(async () => {
      const { lines } = await server.client(LogService).searchLogs({ search: said, pageSize: 1_000 });
      return lines.length > 0 && lines.every(({ resourceGroup }) => resourceGroup === "big");
    }, "what resolvers of the run say");
    expect((await run("small"))?.resourceGroup).toBe("small");
    expect(await refusal(scheduled.triggerScheduledQuery({ name: "nightly", resourceGroup: "none" }))).toContain(
      "no resource group 'none'",
    );
    expect((await scheduled.listScheduledQueries({})).scheduledQueries.map(({ resourceGroup }) => resourceGroup)).toEqual(["big"]);
  });
});

describe("a change of the groups", () => {
  beforeEach(() => configure(GROUPS));
  afterAll(() => configure(GROUPS));

  test("gives a group other workers", async () => {
    const [big, small] = GROUPS.resource_groups;
    const other = { ...big, ...worker({ additional_env_vars: { SIZE: "huge" } }) };
    await configure({ resource_groups: [other, small] });
    await eventually(async () => (await placed("user.big"))[1] === "huge -1", "the changed variables");
    expect((await placed("user.small"))[1]).toBe(PLACES.small);
  });

  test("that removes one has its resolvers fail with the reason, and nothing else, until it is there again", async () => {
    await eventually(async () => (await placed("user.big"))[1] === PLACES.big, "the group as it was");
    await configure({ resource_groups: GROUPS.resource_groups.slice(1) });
    await eventually(
      async () =>
        (await ask("user.big")) === "resolvers.big cannot run: the environment has no resource group 'big': it has default, small, idle",
      "the reason",
    );
    expect((await placed("user.usual"))[1]).toBe(PLACES.default);
    expect((await placed("user.small"))[1]).toBe(PLACES.small);
    await configure(GROUPS);
    await eventually(async () => (await placed("user.big"))[1] === PLACES.big, "the group that is there again");
  });

  test("that removes the group of an offline query ends it with the reason", async () => {
    const { query } = await offline.startOfflineQuery({
      inputs: [{ feature: "user.id", values: [{ feature: "user.id", value: { case: "text", value: "1" } }] }],
      ...{ outputs: ["user.waited"], recompute: true, resourceGroup: "idle" },
    });
    await eventually(() => existsSync(`${go}.begun`), "the resolver's call");
    await configure({ resource_groups: GROUPS.resource_groups.slice(0, 2) });
    writeFileSync(go, "");
    const ended = async () => (await offline.getOfflineQuery({ id: query?.id ?? "" })).query;
    await eventually(async () => ((await ended())?.status ?? 0) >= OfflineQueryStatus.COMPLETED, "the end of the query");
    expect(await ended()).toMatchObject({ status: OfflineQueryStatus.FAILED, error: "The environment has no resource group 'idle'." });
  });
});
