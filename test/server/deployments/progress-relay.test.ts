import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { createFirstTenant } from "../../../src/server/access/first-tenant.ts";
import { createProgressBoard, type ProgressEvent } from "../../../src/server/deployments/progress.ts";
import { type ProgressRelay, relayProgress } from "../../../src/server/deployments/progress-relay.ts";
import { type Bus, createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createLog } from "../../../src/server/log.ts";
import type { DeploymentRecord } from "../../../src/server/stores/metadata/deployments.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { ManualClock } from "../jobs/manual-clock.ts";
import { buildOf, deploymentRecord } from "../stores/metadata/records.ts";

let folder: TempFolder;
let store: MetadataStore;
let clock: ManualClock;
let bus: Bus;
let relays: ProgressRelay[];
let created: DeploymentRecord;

beforeEach(async () => {
  folder = new TempFolder();
  clock = new ManualClock();
  bus = createMemoryBus();
  relays = [];
  store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1", now: clock.now });
  const tenant = await createFirstTenant(store, clock.now());
  created = deploymentRecord("dpl_1", tenant?.environmentId ?? "", { status: DeploymentStatus.QUEUED });
});
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.stop()));
  await store.close();
  folder[Symbol.dispose]();
});

/** A node that builds or follows. */
function startNode(node: string, by: Bus = bus) {
  const board = createProgressBoard(clock);
  const remoteChanges: string[] = [];
  const relay = relayProgress({
    ...{ metadata: store, board, bus: by, onRemoteChange: ({ status }) => remoteChanges.push(DeploymentStatus[status]) },
    node,
    clock,
    log: createLog({ clock, write: () => undefined }),
  });
  relays.push(relay);
  const underway = () =>
    board.underway().map(({ deployment, progress }) => `${deployment.id} ${DeploymentStatus[deployment.status]} ${progress}`.trim());
  return {
    remoteChanges,
    underway,
    async create() {
      await store.createDeployment(created, buildOf(created));
      relay.publish({ deployment: created, progress: "" });
      await clock.advance(0);
    },
    async move(status: DeploymentStatus) {
      relay.publish({ deployment: await store.updateDeployment(created.id, { status }, clock.now()), progress: "" });
      await clock.advance(0);
    },
    async say(progress: string) {
      relay.publish({ deployment: (await store.deployment(created.id)) as DeploymentRecord, progress });
      await clock.advance(0);
    },
    /** Begins to follow the deployment; the list receives its events. */
    follow() {
      const told: string[] = [];
      const add = ({ deployment, progress }: ProgressEvent) => told.push(progress || DeploymentStatus[deployment.status] || "");
      const done = (async () => {
        const current = async () => (await store.deployment(created.id)) as DeploymentRecord;
        for await (const event of board.follow(current, created.id, new AbortController().signal)) add(event);
      })();
      return { told, done };
    },
  };
}

const deaf = (): Bus => ({ publish: bus.publish, subscribe: () => () => undefined });

describe("progress between nodes", () => {
  test("what is told on one node is told on all, once and in its order", async () => {
    const [a, b] = [startNode("a"), startNode("b")];
    await a.create();
    const [onA, onB] = [a.follow(), b.follow()];
    await clock.advance(0);
    await a.move(DeploymentStatus.BUILDING);
    await a.say("unpacking");
    await a.say("analyzing");
    expect([a.underway(), b.underway()]).toEqual([["dpl_1 BUILDING analyzing"], ["dpl_1 BUILDING analyzing"]]);
    await a.move(DeploymentStatus.STARTING);
    await a.say("starting");
    await a.move(DeploymentStatus.LIVE);
    await Promise.all([onA.done, onB.done]);
    const wanted = ["QUEUED", "BUILDING", "unpacking", "analyzing", "STARTING", "starting", "LIVE"];
    expect([onA.told, onB.told]).toEqual([wanted, wanted]);
    expect([a.underway(), b.underway()]).toEqual([[], []]);
    expect([a.remoteChanges, b.remoteChanges]).toEqual([[], ["QUEUED", "BUILDING", "STARTING", "LIVE"]]);
  });

  test("a node that starts knows what is underway, and tells no old lines", async () => {
    const a = startNode("a");
    await a.create();
    await a.move(DeploymentStatus.BUILDING);
    await a.say("unpacking");
    const b = startNode("b");
    await clock.advance(0);
    expect(b.underway()).toEqual(["dpl_1 BUILDING unpacking"]);
    const { told } = b.follow();
    await a.say("analyzing");
    expect(told).toEqual(["BUILDING", "analyzing"]);
    await a.move(DeploymentStatus.FAILED);
  });

  test("a deployment that another node takes over goes on being told", async () => {
    const [a, b] = [startNode("a"), startNode("b")];
    await a.create();
    await a.move(DeploymentStatus.STARTING);
    const { told, done } = a.follow();
    await clock.advance(0);
    await b.move(DeploymentStatus.BUILDING);
    await b.say("again");
    await b.move(DeploymentStatus.LIVE);
    await done;
    expect(told).toEqual(["STARTING", "BUILDING", "again", "LIVE"]);
  });

  test("a node that hears nothing reads it by its timer, and who follows is told of the end", async () => {
    const [a, b] = [startNode("a"), startNode("b", deaf())];
    await a.create();
    const { told, done } = b.follow();
    await clock.advance(0);
    await a.move(DeploymentStatus.BUILDING);
    await a.say("unpacking");
    expect([told, b.underway()]).toEqual([["QUEUED"], []]);
    await clock.advance(30_000);
    expect(b.underway()).toEqual(["dpl_1 BUILDING unpacking"]);
    await a.move(DeploymentStatus.LIVE);
    await clock.advance(30_000);
    await done;
    expect([told.at(-1), b.underway()]).toEqual(["LIVE", []]);
  });
});
