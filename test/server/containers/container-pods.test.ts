/** Shells in programs of the server's own machine: for nobody who could not run one there. */

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ContainerSpecSchema } from "../../../gen/svc/v1/container_pb.ts";
import type { Caller } from "../../../src/server/access/tokens.ts";
import { createContainerPods } from "../../../src/server/containers/container-pods.ts";
import type { StoredContainer } from "../../../src/server/containers/container-records.ts";

const PROGRAM: StoredContainer = {
  ...{ id: "1", environmentId: "env_1", name: "count", node: "node_1", group: "", tags: {}, lifetimeMs: 0, createdAt: 0 },
  ...{ spec: create(ContainerSpecSchema, { image: "host:/srv" }), status: "running", message: "" },
};

test("a shell in a program of the machine takes the permission to deploy", async () => {
  const all = { engineId: () => "1", get: async () => PROGRAM, list: async () => [PROGRAM] };
  const opened: (readonly string[])[] = [];
  const pods = createContainerPods([{ kind: "container", all }], {
    open(_place, _container, { command }) {
      opened.push(command);
      return { ticket: "t", expiresAt: 1 };
    },
  });
  const open = async (...permissions: string[]) => {
    const caller = { clientId: "c", permissions } as unknown as Caller;
    const [pod] = await pods.list(["env_1"]);
    if (!pod) throw new Error("there is no pod");
    return pods.open(pod, { argv: ["/bin/sh"], terminal: undefined, terminalKind: "vt100" }, caller);
  };
  await expect(open("shell", "containers.write")).rejects.toThrow("'count' is a program of the server's own machine");
  expect(opened).toEqual([]);
  expect((await open("shell", "containers.write", "deploy")).ticket).toBe("t");
});
