/** Approvals and servers that are killed: what was approved is made once, after the next start. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { type Approval, ApprovalService, ApprovalState } from "../../../gen/svc/v1/approval_pb.ts";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { runs, seed } from "../../harness/seed.ts";
import { type SpawnedServer, spawnServer } from "../../harness/spawned-server.ts";
import { configure, person } from "./persons.ts";

/** Moments at which the server is killed, in milliseconds after the approval was sent. */
const MOMENTS = Array.from({ length: runs(8, 200) }, (_, round) => (seed + round * 7) % 40);

test("what is approved is made once, whenever the server is killed after", async () => {
  using folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  await first.server.ready;
  const bob = await person(first, folder.path, "bob", ["admin"]);
  await configure(first, { protected: true });
  const owner = await first.token();
  const { credentials } = first;
  await first[Symbol.asyncDispose]();

  const service = ({ url }: SpawnedServer, token: string) => {
    const interceptor = (next: (request: never) => unknown) => (request: { header: Headers }) => {
      request.header.set("authorization", `Bearer ${token}`);
      return next(request as never);
    };
    const transport = createConnectTransport({ baseUrl: url, interceptors: [interceptor as never] });
    return { approvals: createClient(ApprovalService, transport), secrets: createClient(SecretService, transport) };
  };
  const tally = { pending: 0, approved: 0 };
  for (const [round, moment] of MOMENTS.entries()) {
    const value = `value ${round}`;
    let id = "";
    {
      await using server = await spawnServer(folder.path, credentials);
      id = (await service(server, owner).secrets.setSecrets({ secrets: [{ name: "KEY", value }] })).approvalId;
      const approving = service(server, bob.token)
        .approvals.approve({ id })
        .catch(() => undefined);
      await Promise.race([approving, Bun.sleep(moment)]);
      await server.kill();
    }
    await using server = await spawnServer(folder.path, credentials);
    const { approvals, secrets } = service(server, owner);
    const find = async (): Promise<Approval | undefined> => (await approvals.getApproval({ id })).approval;
    const decided = await find();
    tally[decided?.state === ApprovalState.APPROVED ? "approved" : "pending"]++;
    if (decided?.state === ApprovalState.PENDING) await service(server, bob.token).approvals.approve({ id });
    await eventually(async () => (await find())?.appliedAt !== undefined, "the approved change is made");
    const { secrets: all } = await secrets.revealSecrets({});
    expect(all.map(({ name, value: is }) => [name, is])).toEqual([["KEY", value]]);
    await server.kill();
  }
  using db = new Database(join(folder.path, "data/meta.db"), { readonly: true });
  const made = db.query("select count(*) as n from job where kind = 'approved-change' and state = 'succeeded'").get() as { n: number };
  const revision = db.query("select revision from document where kind = 'secret'").get() as { revision: number };
  expect(made.n).toBe(MOMENTS.length);
  expect(revision.revision).toBe(MOMENTS.length);
  expect(db.query("select count(*) as n from approval where payload <> ''").get()).toEqual({ n: 0 });
  expect(tally.approved + tally.pending).toBe(MOMENTS.length);
}, 300_000);

test("a change that was made, and whose server was killed before it said so, is not taken for another's", async () => {
  using folder = new TempFolder();
  const server = await TestServer.start(folder.path);
  await server.server.ready;
  const bob = await person(server, folder.path, "bob", ["admin"]);
  await configure(server, { protected: true });
  const { approvalId: id } = await server.client(SecretService).setSecrets({ secrets: [{ name: "KEY", value: "v" }] });
  const path = join(folder.path, "data/meta.db");
  const payloadOf = (): unknown => {
    using db = new Database(path, { readonly: true });
    return db.query("select payload from approval where id = ?").get(id);
  };
  const { payload } = payloadOf() as { payload: string };
  await bob.client(ApprovalService).approve({ id });
  const { credentials } = server;
  await server[Symbol.asyncDispose]();
  {
    using db = new Database(path);
    db.query("update approval set applied_at = null, payload = ? where id = ?").run(payload, id);
    db.query("update job set state = 'queued', attempts = 0, run_at = 0, node = '', lease_until = 0 where kind = 'approved-change'").run();
    db.query("delete from job_attempt").run();
  }
  await using again = await TestServer.start(folder.path, { credentials });
  const find = async () => (await again.client(ApprovalService).getApproval({ id })).approval;
  await eventually(async () => (await find())?.appliedAt !== undefined, "the change counts as made");
  expect(await find()).toMatchObject({ state: ApprovalState.APPROVED, error: "" });
}, 300_000);
