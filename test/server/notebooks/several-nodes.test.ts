/** A notebook on two nodes: one has the kernel, and the other takes calls for it too. */

import { expect, test } from "bun:test";
import { CellState, KernelState, NotebookService } from "../../../gen/svc/v1/notebook_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { Cluster } from "../nodes/two-nodes.ts";

test("cells are run, followed, interrupted and stopped by calls of any node", async () => {
  await using cluster = new Cluster();
  const [first, second] = [await cluster.start("a"), await cluster.start("b")];
  expectLive(await deploy(first, GREETING));
  const [own, other] = [first.client(NotebookService), second.client(NotebookService)];
  const { notebook: { id: notebookId = "" } = {} } = await own.createNotebook({});
  const add = async (source: string) => (await other.addCell({ notebookId, source })).cell?.id ?? "";
  const begun = await add("x = 20");
  await own.runCell({ notebookId, cellId: begun });
  await Array.fromAsync(own.watchCell({ notebookId, cellId: begun }));
  const node = (await own.getNotebook({ named: { case: "id", value: notebookId } })).notebook?.kernel?.node;

  const printing = await add("print(x + 1)");
  await other.runCell({ notebookId, cellId: printing });
  const messages = await Array.fromAsync(other.watchCell({ notebookId, cellId: printing }));
  expect(messages.flatMap(({ outputs }) => outputs)[0]?.content).toMatchObject({
    value: { name: "stdout", text: expect.stringMatching(/^21/) },
  });
  expect((await other.getNotebook({ named: { case: "id", value: notebookId } })).notebook?.kernel?.node).toBe(node ?? "");

  const waiting = await add("print('begun')\nimport time\ntime.sleep(600)");
  await other.runCell({ notebookId, cellId: waiting });
  for await (const { outputs } of other.watchCell({ notebookId, cellId: waiting })) if (outputs.length > 0) break;
  await other.interruptKernel({ notebookId });
  expect((await Array.fromAsync(other.watchCell({ notebookId, cellId: waiting }))).at(-1)?.cell?.state).toBe(CellState.INTERRUPTED);

  await other.stopKernel({ notebookId });
  const kernel = async () => (await other.getNotebook({ named: { case: "id", value: notebookId } })).notebook?.kernel;
  await eventually(async () => (await kernel())?.state === KernelState.ENDED, "the end of the kernel");
  expect((await kernel())?.end).toBe("was stopped");
}, 300_000);
