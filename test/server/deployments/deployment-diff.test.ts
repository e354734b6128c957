import { afterAll, beforeAll, expect, test } from "bun:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { ChangeKind, DeploymentService } from "../../../gen/svc/v1/deployment_pb.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "./deploying.ts";

const folder = new TempFolder();
let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(folder.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** A project with a window of this length, and a resolver that gives it. */
const windowed = (length: string): typeof GREETING => ({
  ...GREETING,
  "features.py": `${GREETING["features.py"]?.replace("import features", "import features\nfrom svc.streams import Windowed, windowed")}    spent: Windowed[int] = windowed("${length}")\n`,
  "more.py": `from svc import online\nfrom features import User\n\n@online\ndef spent(id: User.id) -> User.spent["${length}"]:\n    return id\n`,
});

test("a deployment is compared with the one that was live before, or with another", async () => {
  const first = await deploy(server, windowed("1d"));
  expectLive(first);
  const { "more.py": _, ...gone } = windowed("7d");
  const second = await deploy(server, gone);
  expectLive(second);
  const client = server.client(DeploymentService);
  const compare = async (deploymentId: string, baseDeploymentId = "") => {
    const { diff } = await client.diffDeployment({ deploymentId, baseDeploymentId });
    const named = [...(diff?.resolvers ?? []), ...(diff?.features ?? [])].map(({ fqn, change }) => `${ChangeKind[change]} ${fqn}`);
    return { base: diff?.baseDeploymentId, named, definitions: diff?.features.filter(({ feature }) => feature).length };
  };
  const forth = ["REMOVED more.spent", "REMOVED user.spent__86400__", "ADDED user.spent__604800__"];
  expect(await compare(second.id)).toEqual({ base: first.id, named: forth, definitions: 0 });
  expect(await compare(second.id, first.id)).toEqual({ base: first.id, named: forth, definitions: 0 });
  expect((await compare(first.id, second.id)).named).toContain("ADDED more.spent");
  const begun = await compare(first.id);
  expect([begun.base, begun.named.every((name) => name.startsWith("ADDED "))]).toEqual(["", true]);
  expect((await compare(second.id, second.id)).named).toEqual([]);

  const failed = await deploy(server, { ...GREETING, "more.py": "raise ValueError\n" });
  const code = (deploymentId: string, baseDeploymentId: string) =>
    client.diffDeployment({ deploymentId, baseDeploymentId }).catch((error: unknown) => ConnectError.from(error).code);
  expect([await code(failed.id, ""), await code(second.id, "dpl_none"), await code("dpl_none", "")]).toEqual([
    Code.FailedPrecondition,
    Code.NotFound,
    Code.NotFound,
  ]);
});
