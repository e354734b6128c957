import { describe, expect, test } from "bun:test";
import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { createProgressBoard, type ProgressEvent } from "../../../src/server/deployments/progress.ts";
import { TestClock } from "../../harness/running-server.ts";
import { deploymentRecord } from "../stores/metadata/records.ts";

const at = (status: DeploymentStatus) => deploymentRecord("dpl_1", "env_1", { status });
const shown = (events: ProgressEvent[]) =>
  events.map(({ deployment, progress }) => `${DeploymentStatus[deployment.status]} ${progress}`.trim());

describe("progress", () => {
  test("begins with the present state, keeps what comes meanwhile, and ends with the last state", async () => {
    const board = createProgressBoard(new TestClock());
    const events: ProgressEvent[] = [];
    const following = (async () => {
      for await (const event of board.follow(async () => at(DeploymentStatus.BUILDING), "dpl_1", new AbortController().signal))
        events.push(event);
    })();
    await Promise.resolve();
    board.publish({ deployment: at(DeploymentStatus.BUILDING), progress: "analyzing" });
    board.publish({ deployment: { ...at(DeploymentStatus.FAILED), id: "dpl_2" }, progress: "" });
    board.publish({ deployment: at(DeploymentStatus.STARTING), progress: "" });
    board.publish({ deployment: at(DeploymentStatus.LIVE), progress: "" });
    await following;
    expect(shown(events)).toEqual(["BUILDING", "BUILDING analyzing", "STARTING", "LIVE"]);
  });

  test("is over at once for what is settled", async () => {
    for (const status of [DeploymentStatus.LIVE, DeploymentStatus.FAILED, DeploymentStatus.INACTIVE]) {
      const events = await Array.fromAsync(
        createProgressBoard(new TestClock()).follow(async () => at(status), "dpl_1", new AbortController().signal),
      );
      expect(shown(events)).toEqual([DeploymentStatus[status]]);
    }
  });

  test("beats when nothing happens, and ends when nobody listens any more", async () => {
    const board = createProgressBoard(new TestClock(), 5);
    const leaving = new AbortController();
    const events: ProgressEvent[] = [];
    for await (const event of board.follow(async () => at(DeploymentStatus.QUEUED), "dpl_1", leaving.signal)) {
      events.push(event);
      if (events.length === 3) leaving.abort();
    }
    expect(shown(events)).toEqual(["QUEUED", "QUEUED", "QUEUED"]);
  });

  test("knows what is not settled, with the last line about it", () => {
    const board = createProgressBoard(new TestClock());
    const [first, second] = ["dpl_1", "dpl_2"].map((id) => (status: DeploymentStatus) => ({ ...at(status), id })) as [typeof at, typeof at];
    board.publish({ deployment: first(DeploymentStatus.QUEUED), progress: "" });
    board.publish({ deployment: second(DeploymentStatus.QUEUED), progress: "" });
    board.publish({ deployment: first(DeploymentStatus.BUILDING), progress: "analyzing" });
    board.publish({ deployment: first(DeploymentStatus.STARTING), progress: "" });
    const known = () =>
      board.underway().map(({ deployment, progress }) => `${deployment.id} ${DeploymentStatus[deployment.status]} ${progress}`.trim());
    expect(known()).toEqual(["dpl_1 STARTING analyzing", "dpl_2 QUEUED"]);
    board.publish({ deployment: first(DeploymentStatus.LIVE), progress: "" });
    board.publish({ deployment: second(DeploymentStatus.FAILED), progress: "" });
    expect(known()).toEqual([]);
  });
});
