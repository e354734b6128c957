import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ContainerSpecSchema } from "../../../gen/svc/v1/container_pb.ts";
import { createContainerRecords } from "../../../src/server/containers/container-records.ts";
import { createContainers } from "../../../src/server/containers/containers.ts";
import type { ContainerEngine, EngineContainer } from "../../../src/server/engines/container-engine.ts";
import { nodesOfEachTest } from "../documents/parts.ts";

const nodes = nodesOfEachTest();

test("a container that is just being made is not taken for one that the engine has lost", async () => {
  const starting = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const removed: string[] = [];
  let made: EngineContainer | undefined;
  const engine: Partial<ContainerEngine> = {
    async create({ labels, name }) {
      made = {
        ...{ id: "engine_1", name, labels, state: "created", exitCode: undefined, isOutOfMemory: false, error: "" },
        ...{ startedAt: undefined, endedAt: undefined, address: undefined },
      };
      return made.id;
    },
    async start() {
      begun.resolve();
      await starting.promise;
      if (made) made = { ...made, state: "running", startedAt: 1 };
    },
    inspect: async () => made,
    list: async () => (made ? [made] : []),
    remove: async (id) => void removed.push(id),
    waitForEnd: () => over.promise,
    output: async function* () {},
  };
  const parts = nodes.parts();
  const containers = createContainers({
    ...parts,
    records: createContainerRecords(parts, "container"),
    kind: "container",
    engine: () => engine as ContainerEngine,
    volumes: { folder: async () => "" },
    secrets: () => Promise.reject(new Error("no secrets")),
    halted: () => new AbortController().signal,
    logs: { record: () => undefined },
    recorded: () => Promise.reject(new Error("no log")),
    journal: { addEvent: async () => undefined },
    node: "node_1",
  });
  const spec = create(ContainerSpecSchema, { image: "localhost/a:1" });
  const wish = { environment: { id: "env_1", name: "e" }, name: "a", spec, tags: {}, lifetimeMs: 0, group: "", hasNetwork: true };
  const running = containers.run(wish, { clientId: "c", teamId: "t", permissions: [] });
  await begun.promise;
  await containers.resume();
  starting.resolve();
  expect((await running).status).toBe("running");
  expect(removed).toEqual([]);
  if (made) made = { ...made, state: "exited", exitCode: 0, endedAt: 2 };
  over.resolve();
  await containers.ended((await running).id);
  await containers.close();
});
