import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ContainerSpecSchema } from "../../../gen/svc/v1/container_pb.ts";
import { createSealer } from "../../../src/server/access/sealing.ts";
import { Failure } from "../../../src/server/failure.ts";
import { createMetricRecorder } from "../../../src/server/metrics/recorder.ts";
import { type HealthFault, healthCheck } from "../../../src/server/scaling-groups/health-check.ts";
import type { ReplicaLease } from "../../../src/server/scaling-groups/replica-set.ts";
import { createScalingGroups, type GroupWish, type ScalingGroups } from "../../../src/server/scaling-groups/scaling-groups.ts";
import type { ProcessEvent } from "../../../src/server/stores/metadata/processes.ts";
import { eventually, isPending } from "../../harness/eventually.ts";
import { nodesOfEachTest } from "../documents/parts.ts";
import { FakeContainers } from "./fake-containers.ts";

const ENVIRONMENT = { id: "env_1", name: "default", projectId: "p", projectName: "p", teamId: "team", createdAt: 0 };
const CALLER = { clientId: "c", teamId: "team", permissions: ["containers.write"] };
const key = (fill: number) => ({ id: `key${fill}`, secret: new Uint8Array(32).fill(fill) });
const NEVER = new AbortController().signal;
const nodes = nodesOfEachTest();

let containers: FakeContainers;
let groups: ScalingGroups;
/** What was written down of groups, the oldest first. */
let told: ProcessEvent[] = [];
/** The time, which a test passes. */
let passed = 0;

const open = (keys = [key(1)], parts = nodes.parts()): ScalingGroups =>
  createScalingGroups({
    ...parts,
    containers,
    environments: async () => [ENVIRONMENT],
    sealer: createSealer(keys),
    node: "node_1",
    metrics: createMetricRecorder({ ...parts, store: () => Promise.reject(new Error("none")), isOff: true }),
    journal: { addEvent: async (event) => void told.push(event) },
    pace: { lookMs: 5, startingMs: 0, checkMs: 0, measureMs: 0 },
    check: async (address, isGrpc) => {
      checks++;
      return fault ?? healthCheck(address, isGrpc);
    },
    now: () => passed,
  });

beforeEach(async () => {
  passed = 0;
  told = [];
  fault = undefined;
  containers = new FakeContainers();
  groups = open();
  await groups.start();
});

afterEach(async () => {
  await groups.close();
  await containers.close();
});

function wish({
  minReplicas = 1,
  maxReplicas = 1,
  name = "web",
  spec = {},
}: {
  minReplicas?: number;
  maxReplicas?: number;
  name?: string;
  spec?: object;
} = {}): GroupWish {
  return {
    environment: ENVIRONMENT,
    ...{ name, tags: { team: "a" }, bounds: { minReplicas, maxReplicas, targetCpu: 0 } },
    spec: create(ContainerSpecSchema, { image: "localhost/web:1", port: 8080, ...spec }),
  };
}

const put = (given?: Parameters<typeof wish>[0]) => groups.put(wish(given), CALLER);
const state = async (name = "web") => (await groups.get("env_1", name)).state;
const settled = (ready: number) =>
  eventually(async () => (await state()).ready === ready && containers.running.length === ready, `${ready} replicas answer`);
/** What checks find, when a test says so. */
let fault: HealthFault | undefined;
let checks = 0;
let groupId = "";
const lease = (signal = NEVER): Promise<ReplicaLease> => {
  const group = groups.routed(groupId);
  if (!group) throw new Error("there is no group");
  return group.lease(signal);
};
const idAt = ({ address }: ReplicaLease): string =>
  containers.running.find(({ id }) => containers.address(id)?.port === address.port)?.id ?? "";

async function made(given?: Parameters<typeof wish>[0]): Promise<void> {
  groupId = (await put(given)).group.id;
}

describe("a group", () => {
  test("has its fewest replicas, which say whose they are", async () => {
    await made({ minReplicas: 2, maxReplicas: 3 });
    await settled(2);
    const readyIds = new Set(containers.running.map(({ id }) => id));
    expect(await state()).toEqual({ status: "ready", ready: 2, wanted: 2, message: "", readyIds });
    for (const { group, name, tags } of containers.running) {
      expect([group, tags]).toEqual([groupId, { team: "a" }]);
      expect(name).toMatch(/^web-[a-z0-9]{4}-[a-f0-9]{6}$/);
    }
  });

  test("is refused for what it cannot be, and leaves nothing behind", async () => {
    const refused = async (given: Parameters<typeof wish>[0]) => expect(put(given)).rejects.toMatchObject({ kind: "invalid_argument" });
    await refused({ minReplicas: 3, maxReplicas: 2 });
    await refused({ maxReplicas: 0, minReplicas: 0 });
    await refused({ maxReplicas: 101 });
    await refused({ minReplicas: 0, spec: { port: 0 } });
    await refused({ name: "Not a name" });
    containers.fate = "is refused";
    await expect(put()).rejects.toThrow("There is no image 'localhost/web:1'.");
    expect(await groups.list("env_1")).toEqual([]);
  });

  test("keeps values of variables sealed, also under another key, and gives them to replicas", async () => {
    const environment = [
      { name: "PLAIN", source: { case: "value" as const, value: "hunter2" } },
      { name: "KEY", source: { case: "secret" as const, value: "API_KEY" } },
    ];
    await made({ spec: { environment } });
    const [{ group } = { group: undefined }] = await groups.list("env_1");
    expect(JSON.stringify(group)).not.toContain("hunter2");
    await groups.close();
    groups = open([key(2), key(1)], nodes.parts());
    await groups.start();
    expect(await groups.reseal(NEVER)).toBe(1);
    expect(await groups.reseal(NEVER)).toBe(0);
    const [first] = containers.running;
    await containers.end(first?.id ?? "", 1);
    passed += 2_000;
    await eventually(() => containers.running.length === 1, "another replica runs");
    const [replica] = [...containers.all.values()].slice(-1);
    expect(replica?.spec.environment.map(({ name, source }) => [name, source.value])).toEqual([
      ["PLAIN", "hunter2"],
      ["KEY", "API_KEY"],
    ]);
  });

  test("ends its replicas when it is deleted, and tells who waits", async () => {
    await made({ minReplicas: 0 });
    await settled(1);
    passed += 60_001;
    await settled(0);
    containers.starting = new Promise(() => undefined);
    const waiting = lease();
    expect(await isPending(waiting)).toBe(true);
    await groups.delete("env_1", "web");
    await expect(waiting).rejects.toThrow("The scaling group 'web' was deleted.");
    await expect(groups.get("env_1", "web")).rejects.toMatchObject({ kind: "not_found" });
    expect(containers.running).toEqual([]);
  });

  test("a replica that was just being started when it was deleted ends too", async () => {
    await made({ minReplicas: 1, maxReplicas: 2 });
    const gate = Promise.withResolvers<void>();
    containers.starting = gate.promise;
    await containers.end(containers.running[0]?.id ?? "", 1);
    passed += 2_000;
    const before = containers.all.size;
    await eventually(async () => (await state()).ready === 0, "it is noticed");
    await groups.delete("env_1", "web");
    gate.resolve();
    await eventually(() => containers.running.length === 0, "nothing runs");
    expect(containers.all.size - before).toBeLessThanOrEqual(1);
  });
});

describe("requests", () => {
  test("go to the replica with the fewest", async () => {
    await made({ minReplicas: 3, maxReplicas: 3 });
    await settled(3);
    const leases = await Promise.all(Array.from({ length: 9 }, () => lease()));
    const counts = Map.groupBy(leases, idAt);
    expect([...counts.values()].map(({ length }) => length)).toEqual([3, 3, 3]);
    const [first] = counts.values();
    for (const one of first ?? []) one.release("answered");
    expect(idAt(await lease())).toBe(idAt(first?.[0] as ReplicaLease));
  });

  test("wait for a replica when there is none: none is lost, and one is started", async () => {
    await made({ minReplicas: 0, maxReplicas: 2 });
    await settled(1);
    passed += 60_001;
    await settled(0);
    expect((await state()).status).toBe("idle");
    const gate = Promise.withResolvers<void>();
    containers.starting = gate.promise;
    const before = containers.all.size;
    const waiting = Array.from({ length: 1_000 }, () => lease());
    expect(await isPending(Promise.race(waiting))).toBe(true);
    gate.resolve();
    const leases = await Promise.all(waiting);
    expect(leases).toHaveLength(1_000);
    expect(containers.all.size - before).toBe(1);
  });

  test("that leave while they wait are waited for no more", async () => {
    await made({ minReplicas: 0 });
    await settled(1);
    passed += 60_001;
    await settled(0);
    containers.starting = new Promise(() => undefined);
    const left = new AbortController();
    const waiting = lease(left.signal);
    left.abort(new Error("left"));
    await expect(waiting).rejects.toThrow("left");
  });

  test("keep replicas from ending while they last", async () => {
    await made({ minReplicas: 0 });
    const held = await lease();
    passed += 120_000;
    await eventually(async () => (await state()).wanted === 1, "it was looked at");
    expect(containers.running).toHaveLength(1);
    held.release("answered");
    passed += 60_001;
    await settled(0);
  });
});

describe("replicas that fail", () => {
  test("one that ends is replaced, after a pause that grows", async () => {
    await made();
    await settled(1);
    const [first] = containers.running;
    await containers.end(first?.id ?? "", 7);
    await eventually(async () => (await state()).message.includes("exit code 7"), "its end is told");
    expect(containers.running).toEqual([]);
    passed += 1_001;
    await settled(1);
    expect(containers.running[0]?.id).not.toBe(first?.id);
  });

  test("those that do not stay make the group fail, in words, and one that stays heals it", async () => {
    await made();
    await settled(1);
    containers.fate = "ends";
    await containers.end(containers.running[0]?.id ?? "", 3);
    await eventually(async () => {
      passed += 5_000;
      return (await state()).status === "failed";
    }, "it fails");
    const refused = await lease().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Failure);
    expect(refused).toMatchObject({
      kind: "unavailable",
      message: "The replicas of the scaling group 'web' do not stay. A replica ended with exit code 3.",
    });
    containers.fate = "runs";
    passed += 60_001;
    await settled(1);
    passed += 30_001;
    await eventually(async () => (await state()).message === "", "it is forgotten");
  });

  test("one that takes no connection is given no more requests until it answers, and is replaced in time", async () => {
    await made({ minReplicas: 2, maxReplicas: 2 });
    await settled(2);
    const taken = await lease();
    const deaf = idAt(taken);
    await containers.deafen(deaf);
    taken.release("refused");
    for (let i = 0; i < 5; i++) expect(idAt(await lease())).not.toBe(deaf);
    await eventually(async () => {
      passed += 5_000;
      return containers.whys.has(deaf);
    }, "it is ended");
    expect(containers.whys.get(deaf)).toContain("does not answer on port 8080");
    passed += 2_000;
    await eventually(async () => (await state()).ready === 2, "another has its place");
  });
});

test("a replica that is busy with requests is not taken for one that is gone", async () => {
  await made();
  await settled(1);
  const [first] = containers.running;
  const busy = await lease();
  fault = { message: "it did not answer in 5 seconds", isLate: true };
  checks = 0;
  await eventually(() => checks > 1, "it is found late");
  passed += 100_000;
  await eventually(() => checks > 3, "it is found late again");
  expect(containers.whys.size).toBe(0);
  busy.release("failed");
  await eventually(() => {
    passed += 20_000;
    return containers.whys.has(first?.id ?? "");
  }, "without requests it is ended");
});

describe("bounds that are changed", () => {
  test("change how many there are, keep the others that run, and are told", async () => {
    await made({ minReplicas: 1, maxReplicas: 1 });
    await settled(1);
    const [first] = containers.running;
    const { group } = await groups.scale("env_1", "web", { minReplicas: 3, maxReplicas: 4 });
    expect(group.content.bounds).toEqual({ minReplicas: 3, maxReplicas: 4, targetCpu: 80 });
    await settled(3);
    expect(containers.running.map(({ id }) => id)).toContain(first?.id as string);
    await groups.scale("env_1", groupId, { minReplicas: 0, maxReplicas: 1 });
    await settled(1);
    expect(told.map(({ process, reason, message }) => [process, reason, message])).toEqual([
      ["scaling-group/web", "Created", "Its replicas run localhost/web:1."],
      ["scaling-group/web", "Scaled", "It should have 3 replicas instead of 1, by its bounds."],
      ["scaling-group/web", "Scaled", "It should have 1 replica instead of 3, by its bounds."],
    ]);
  });

  test("that are none change nothing", async () => {
    await made({ minReplicas: 1, maxReplicas: 2, spec: { port: 0 } });
    for (const change of [{ minReplicas: 3 }, { maxReplicas: 0 }, { maxReplicas: 101 }, { targetCpu: 101 }, { minReplicas: 0 }])
      await expect(groups.scale("env_1", "web", change)).rejects.toMatchObject({ kind: "invalid_argument" });
    await expect(groups.scale("env_1", "none", { maxReplicas: 2 })).rejects.toMatchObject({ kind: "not_found" });
    expect((await groups.get("env_1", "web")).group.content.bounds).toEqual({ minReplicas: 1, maxReplicas: 2, targetCpu: 80 });
  });
});

test("a group that is restarted has other replicas with the same values, whoever asks", async () => {
  await made({ minReplicas: 2, maxReplicas: 2, spec: { environment: [{ name: "A", source: { case: "value", value: "hunter2" } }] } });
  await settled(2);
  const old = new Set(containers.running.map(({ id }) => id));
  await groups.restart("env_1", "web");
  await eventually(() => containers.running.length === 2 && containers.running.every(({ id }) => !old.has(id)), "all are new");
  const [last] = [...containers.all.values()].slice(-1);
  expect(last?.spec.environment.map(({ source }) => source.value)).toEqual(["hunter2"]);
  expect(told.map(({ reason }) => reason)).toEqual(["Created", "Replaced"]);
  containers.fate = "is refused";
  await expect(groups.restart("env_1", "web")).rejects.toMatchObject({ kind: "not_found" });
  expect(containers.running).toHaveLength(2);
});

describe("a replacement", () => {
  test("new replicas answer before old ones go, and those end with their requests", async () => {
    await made({ minReplicas: 2, maxReplicas: 2 });
    await settled(2);
    const old = containers.running.map(({ id }) => id);
    const held = await lease();
    const slow = idAt(held);
    await put({ minReplicas: 2, maxReplicas: 2, spec: { image: "localhost/web:2" } });
    const seen: string[] = [];
    await eventually(async () => {
      const one = await lease();
      seen.push(idAt(one));
      one.release("answered");
      return (await state()).ready === 2 && containers.running.every(({ id }) => id === slow || !old.includes(id));
    }, "the new ones are alone, but for a request");
    expect(seen).not.toContain("");
    expect(containers.running.map(({ id }) => id)).toContain(slow);
    held.release("answered");
    await settled(2);
    expect(containers.running.map(({ spec }) => spec.image)).toEqual(["localhost/web:2", "localhost/web:2"]);
  });

  test("that cannot be started changes nothing", async () => {
    await made();
    await settled(1);
    const [before] = containers.running;
    containers.fate = "is refused";
    await expect(put({ spec: { image: "localhost/none:1" } })).rejects.toMatchObject({ kind: "not_found" });
    expect(containers.running).toEqual([before as NonNullable<typeof before>]);
    expect((await groups.get("env_1", "web")).group.content.spec.image).toBe("localhost/web:1");
  });

  test("whose replicas do not stay leaves the old ones", async () => {
    await made();
    await settled(1);
    const [before] = containers.running;
    containers.fate = "ends";
    await put({ spec: { image: "localhost/web:2" } });
    await eventually(async () => {
      passed += 5_000;
      return (await state()).status === "failed";
    }, "it fails");
    expect(containers.running.map(({ id }) => id)).toEqual([before?.id ?? ""]);
    expect(idAt(await lease())).toBe(before?.id ?? "");
  });
});

test("replicas that use more than the target get others beside them", async () => {
  await made({ minReplicas: 1, maxReplicas: 3 });
  await settled(1);
  await eventually(async () => {
    passed += 1_000;
    for (const one of containers.all.values()) one.cpuSeconds += 1_000;
    return (await state()).ready === 3;
  }, "there are more");
});

test("a server that starts anew finds the replicas, and ends those of groups that are gone", async () => {
  await made({ minReplicas: 2, maxReplicas: 2 });
  await settled(2);
  const before = containers.running.map(({ id }) => id);
  await groups.close();
  expect(containers.running.map(({ id }) => id)).toEqual(before);
  const orphan = await containers.run({ ...wish(), lifetimeMs: 0, group: "sg_gone", hasNetwork: true });
  groups = open();
  await groups.start();
  await settled(2);
  expect(containers.running.map(({ id }) => id)).toEqual(before);
  expect(containers.whys.get(orphan.id)).toBe("Its scaling group was deleted.");
  expect(await (async () => idAt(await lease()))()).toBeOneOf(before);
});
