/**
 * The gateway and scaling groups of a real server on a real Podman: what busybox's httpd serves is
 * reached at the address that is printed.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ContainerService, type ContainerSpecSchema, ContainerStatus } from "../../../gen/svc/v1/container_pb.ts";
import { type ScalingGroup, ScalingGroupService, ScalingGroupStatus } from "../../../gen/svc/v1/scaling_group_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { BUSYBOX, lacksPodman, startPodman, type TestPodman } from "../../harness/podman.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { tokenOf } from "../approvals/persons.ts";

const TEST_MS = 300_000;
const PORT = 8080;

describe.skipIf(lacksPodman())("with an engine", () => {
  const folder = new TempFolder();
  let podman: TestPodman;
  let server: TestServer;

  const startServer = (credentials?: TestServer["credentials"]): Promise<TestServer> =>
    TestServer.start(folder.path, {
      env: { PATH: process.env.PATH, HOME: folder.path, SVC_CONTAINER_ENGINE: podman.address },
      groupIdleMs: 1_000,
      ...(credentials && { credentials }),
    });
  beforeAll(async () => {
    podman = await startPodman();
    server = await startServer();
  }, TEST_MS);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await podman?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  }, TEST_MS);

  /** A server of files that ends when it is told to: the first process of a container ignores what it has no handler for. */
  const serving = (text: string): MessageInitShape<typeof ContainerSpecSchema> => ({
    image: BUSYBOX,
    entrypoint: ["sh", "-c", `echo ${text} > /tmp/index.html; trap 'kill $!; exit 0' TERM; httpd -f -p ${PORT} -h /tmp & wait`],
    port: PORT,
  });
  const groups = () => server.client(ScalingGroupService);
  const group = async (name: string): Promise<ScalingGroup> => {
    const { group: found } = await groups().getScalingGroup({ group: name });
    if (!found) throw new Error("the answer has no group");
    return found;
  };
  const ready = (name: string, count: number) =>
    eventually(async () => {
      const { readyReplicas, replicas } = await group(name);
      return readyReplicas === count && replicas.filter(({ status }) => status === ContainerStatus.RUNNING).length === count;
    }, `${count} replicas answer`);

  test(
    "a container is reached at its address, by who may",
    async () => {
      const containers = server.client(ContainerService);
      const { container: open } = await containers.runContainer({ name: "open", spec: serving("hello") });
      const { container: guarded } = await containers.runContainer({
        name: "guarded",
        spec: { ...serving("secret"), authenticated: true },
      });
      const ask = async (url = "", headers: Record<string, string> = {}) => {
        const response = await fetch(url, { headers });
        return [response.status, response.ok ? (await response.text()).trim() : ""] as const;
      };
      expect(open?.url).toStartWith(`${server.server.gatewayUrl}/open-`);
      await eventually(async () => (await ask(open?.url))[0] === 200, "it answers");
      expect(await ask(open?.url)).toEqual([200, "hello"]);
      expect(await ask(`${open?.url}none`)).toEqual([404, ""]);
      expect((await ask(`${server.server.gatewayUrl}/${open?.id}/`))[1]).toBe("hello");
      expect(await ask(guarded?.url)).toEqual([401, ""]);
      const viewer = await tokenOf(server, undefined, "viewer", ["read"]);
      const asViewer = { authorization: `Bearer ${viewer.token}` };
      const asOwner = { authorization: `Bearer ${await server.token()}` };
      expect(await ask(guarded?.url, asViewer)).toEqual([403, ""]);
      await eventually(async () => (await ask(guarded?.url, asOwner))[0] === 200, "it answers");
      expect((await ask(guarded?.url, asOwner))[1]).toBe("secret");
      // The dashboard and the API are of another origin, and not here.
      expect((await ask(`${server.server.gatewayUrl}/`))[0]).toBe(404);
      for (const one of [open, guarded]) await containers.stopContainer({ container: one?.id ?? "" });
      expect((await ask(open?.url))[0]).toBe(404);
      expect((await containers.getContainer({ container: open?.id ?? "" })).container?.url).toBe("");
    },
    TEST_MS,
  );

  test(
    "a group without replicas starts one for a request, and loses none of many",
    async () => {
      const { group: made } = await groups().createScalingGroup({ name: "idle", spec: serving("one"), bounds: { maxReplicas: 2 } });
      await eventually(async () => (await group("idle")).status === ScalingGroupStatus.IDLE, "it has none");
      await ready("idle", 0);
      const asked = Array.from({ length: 200 }, async () => {
        const response = await fetch(`${made?.url}index.html`);
        return `${response.status} ${(await response.text()).trim()}`;
      });
      expect(new Set(await Promise.all(asked))).toEqual(new Set(["200 one"]));
    },
    TEST_MS,
  );

  test(
    "a group is replaced while it answers, is found again by a server that starts anew, and leaves nothing",
    async () => {
      const { group: made } = await groups().createScalingGroup({
        name: "two",
        spec: serving("old"),
        bounds: { minReplicas: 2, maxReplicas: 2 },
      });
      await ready("two", 2);
      const seen: string[] = [];
      let isOver = false;
      const asking = (async () => {
        while (!isOver) {
          const response = await fetch(made?.url ?? "");
          seen.push(`${response.status} ${(await response.text()).trim()}`);
        }
      })();
      await groups().createScalingGroup({ name: "two", spec: serving("new"), bounds: { minReplicas: 2, maxReplicas: 2 } });
      await eventually(() => seen.at(-1) === "200 new", "the new ones answer");
      await ready("two", 2);
      isOver = true;
      await asking;
      expect(new Set(seen)).toEqual(new Set(["200 old", "200 new"]));
      /** Names in the engine of the replicas that run; the other group's come and go by themselves. */
      const running = async () =>
        (await group("two")).replicas.filter(({ status }) => status === ContainerStatus.RUNNING).map(({ id }) => `svc-${id}`);
      await eventually(async () => (await running()).length === 2, "the old ones are gone");
      const before = (await running()).toSorted();
      await server[Symbol.asyncDispose]();
      server = await startServer(server.credentials);
      await server.server.ready;
      await ready("two", 2);
      expect((await running()).toSorted()).toEqual(before);
      expect(podman.containers()).toEqual(expect.arrayContaining(before));
      const { url } = await group("two");
      expect((await (await fetch(url)).text()).trim()).toBe("new");

      for (const name of ["two", "idle"]) await groups().deleteScalingGroup({ group: name });
      expect(podman.containers()).toEqual([]);
      expect((await fetch(url)).status).toBe(404);
    },
    TEST_MS,
  );
});
