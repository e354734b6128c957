/** Changes of a protected environment's values: kept until another person decides, and made once. */

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ApprovalService, ApprovalState } from "../../../gen/svc/v1/approval_pb.ts";
import {
  FeatureDataService,
  type UploadOptionsSchema,
  type UploadValuesResponse,
  ValueFileFormat,
  ValueUploadState,
} from "../../../gen/svc/v1/feature_data_pb.ts";
import { toProtoValue } from "../../../src/domain/proto-value.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";
import { ask } from "../deletions/asking.ts";
import { storedIn } from "../deletions/stored.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { configure, type Person, person } from "./persons.ts";

const DAY = 86_400_000;

let folder: TempFolder;
let clock: TestClock;
let server: TestServer;
let bob: Person;

beforeEach(async () => {
  folder = new TempFolder();
  clock = new TestClock();
  server = await TestServer.start(folder.path, { clock });
  await server.server.ready;
  bob = await person(server, folder.path, "bob", ["admin"]);
  expectLive(await deploy(server, GREETING));
}, 300_000);
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const protect = () => configure(server, { protected: true });
const data = () => server.client(FeatureDataService);
const approval = async (id: string) => (await bob.client(ApprovalService).getApproval({ id })).approval;
const approve = async (id: string) => (await bob.client(ApprovalService).approve({ id })).approval;
const refusal = async (call: Promise<unknown>): Promise<ConnectError> =>
  call.then(
    () => Promise.reject(new Error("the call was not refused")),
    (error: unknown) => ConnectError.from(error),
  );
const stored = () => storedIn(join(folder.path, "data"));
const upload = (
  columns: Record<string, readonly FeatureValue[]>,
  options: MessageInitShape<typeof UploadOptionsSchema> = {},
): Promise<UploadValuesResponse> =>
  data().uploadValues({
    columns: Object.entries(columns).map(([name, values]) => ({ name, values: values.map((value) => toProtoValue(value)) })),
    options,
  });
const putFile = async (content: string): Promise<string> => {
  const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex");
  const { uploadId, url } = await data().announceValueFile({ sha256, sizeBytes: BigInt(content.length) });
  expect((await fetch(new URL(url, server.url), { method: "PUT", body: content })).status).toBe(201);
  return uploadId;
};
const uploadFile = async (content: string) => data().uploadValueFile({ uploadId: await putFile(content), format: ValueFileFormat.CSV });
/** Objects that hold values. */
const kept = (): string[] =>
  readdirSync(join(folder.path, "data"), { recursive: true, encoding: "utf8" }).filter((path) => /values\/upl_\w+$/.test(path));
const nameOf = async (id: number) => (await ask(server, { "user.id": id }, ["user.name"])).data?.[0]?.value;

/** Starts the server again, a while later; what is due then runs. */
async function restart(laterMs = 0): Promise<void> {
  const { credentials } = server;
  await server[Symbol.asyncDispose]();
  clock.advance(laterMs);
  server = await TestServer.start(folder.path, { clock, credentials });
  await server.server.ready;
  bob = await bob.loggedInAgain(server);
}

describe("deletions", () => {
  test("remove what there is when another person has approved them", async () => {
    await upload({ "user.id": [1, 2], "user.name": ["Ann", "Bo"] });
    await protect();
    const { approvalId, deletion } = await data().deleteValues({ selection: { features: ["user.name"], keys: ["1"] } });
    expect(deletion).toBeUndefined();
    expect((await approval(approvalId))?.names).toEqual(["1 row", "user.name"]);
    expect(stored().offline).toMatchObject({ "user.name 1": 1 });
    expect(await approve(approvalId)).toMatchObject({ state: ApprovalState.APPROVED, error: "" });
    await eventually(() => !("user.name 1" in stored().offline) && !("user.name 1" in stored().online), "the values are gone");
    expect(stored().offline).toMatchObject({ "user.name 2": 1 });
  });

  test("of a branch need no approval", async () => {
    await protect();
    const branch = server.client(FeatureDataService, { headers: { "svc-branch": "b" } });
    expect((await refusal(branch.deleteValues({ selection: { features: ["user.name"], keys: ["1"] } }))).code).toBe(Code.NotFound);
    expect((await bob.client(ApprovalService).listApprovals({})).approvals).toEqual([]);
  });

  test("over plain HTTP are asked for too", async () => {
    await upload({ "user.id": [1], "user.name": ["Ann"] });
    await protect();
    const headers = { authorization: `Bearer ${await server.token()}`, "content-type": "application/json" };
    const send = async (path: string, method: string, body: object) =>
      (await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) })).json() as Promise<{ approval_id: string }>;
    const ids = [
      await send("/v1/features/rows", "DELETE", { features: ["user.name"], primary_keys: [1] }),
      await send("/v1/features/columns", "DELETE", { features: ["user.name"] }),
      await send("/v1/features/upload", "POST", { columns: { "user.id": [3], "user.name": ["Cy"] } }),
    ].map(({ approval_id }) => approval_id);
    const kinds = await Promise.all(ids.map(async (id) => (await approval(id))?.kind));
    expect(kinds).toEqual(["values.delete", "values.drop", "values.upload"]);
    await approve(ids[2] as string);
    expect(await nameOf(3)).toBe("Cy");
  });
});

describe("versions of features", () => {
  test("end when another person has approved it, and what was asked for of an earlier version is refused", async () => {
    await upload({ "user.id": [1], "user.name": ["Ann"] });
    await protect();
    const selection = { features: ["user.name"] };
    const { approvalId: migration } = await data().migrateTypes({ selection });
    const { approvalId: drop } = await data().dropVersions({ selection });
    const { approvalId: deletion } = await data().deleteValues({ selection: { ...selection, keys: ["1"] } });
    const { approvalId: call } = await upload({ "user.id": [2], "user.name": ["Bo"] });
    const { approvalId: file } = await uploadFile("user.id,user.name\n3,Cy\n");
    expect(await approve(migration)).toMatchObject({ state: ApprovalState.APPROVED });
    expect((await data().previewVersions({ selection })).versions).toMatchObject([{ fqn: "user.name", internalVersion: 2 }]);
    for (const id of [drop, deletion, call, file]) {
      const refused = await refusal(approve(id));
      expect(refused.rawMessage).toContain("The versions of user.name changed since this was asked for, so nothing was changed.");
    }
    expect((await data().previewVersions({ selection })).versions).toMatchObject([{ internalVersion: 2 }]);
    expect(kept()).toEqual([]);
  });
});

describe("uploads", () => {
  test("with a call have the time at which they were asked for", async () => {
    await protect();
    const { approvalId, rows, offlineValues } = await upload({ "user.id": [1, 2], "user.name": ["Ann", "Bo"] });
    expect([rows, offlineValues]).toEqual([2n, 0n]);
    expect((await approval(approvalId))?.names).toEqual(["2 rows", "user.name"]);
    expect([stored().offline, kept().length]).toEqual([{}, 1]);
    const asked = clock.now();
    clock.advance(2 * 60_000);
    await approve(approvalId);
    expect([await nameOf(1), stored().offline, kept()]).toEqual(["Ann", { "user.name 1": 1, "user.name 2": 1 }, []]);
    using db = new Database(join(folder.path, "data/online.db"), { readonly: true });
    const { at } = db.query("select max(observed_at) as at from online").get() as { at: number };
    expect(at).toBeLessThanOrEqual(asked);
  });

  test("of files are kept for days, and written by their job", async () => {
    await protect();
    const { approvalId, upload: begun, uploadId } = await uploadFile("user.id,user.name\n1,Ann\n");
    expect(begun).toBeUndefined();
    expect((await approval(approvalId))?.names).toEqual(["1 row", "user.name"]);
    await restart(6 * DAY);
    expect(kept()).toHaveLength(1);
    await approve(approvalId);
    const state = async () => (await data().getValueUpload({ id: uploadId })).upload?.state;
    await eventually(async () => (await state()) === ValueUploadState.SUCCEEDED, "the file is stored");
    expect(stored().offline).toEqual({ "user.name 1": 1 });
    await eventually(() => kept().length === 0, "the file is removed");
  }, 300_000);

  test("are removed when they are rejected, withdrawn or expire", async () => {
    await protect();
    const [first, second, third] = [
      (await uploadFile("user.id,user.name\n1,Ann\n")).approvalId,
      (await upload({ "user.id": [2], "user.name": ["Bo"] })).approvalId,
      (await uploadFile("user.id,user.name\n3,Cy\n")).approvalId,
    ];
    expect(kept()).toHaveLength(3);
    await bob.client(ApprovalService).reject({ id: first });
    expect(kept()).toHaveLength(2);
    await server.client(ApprovalService).withdraw({ id: second });
    expect(kept()).toHaveLength(1);
    await restart(7 * DAY + 1);
    await eventually(() => kept().length === 0, "the file is removed");
    expect((await approval(third))?.state).toBe(ApprovalState.EXPIRED);
    expect(stored().offline).toEqual({});
  }, 300_000);

  test("are refused at once when something is wrong, and keep nothing", async () => {
    await protect();
    const wrongs: Record<string, FeatureValue[]>[] = [
      { "user.id": [1], "user.nam": ["x"] },
      { "user.id": ["one"], "user.name": ["x"] },
    ];
    for (const columns of wrongs) expect((await refusal(upload(columns))).code).toBe(Code.InvalidArgument);
    const wrong = await refusal(uploadFile("user.id,user.nam\n1,Ann\n"));
    expect([wrong.code, wrong.rawMessage]).toEqual([Code.InvalidArgument, expect.stringContaining("there is no such feature")]);
    const twice = await putFile("user.id,user.name\n1,Ann\n");
    const asking = () => data().uploadValueFile({ uploadId: twice, format: ValueFileFormat.CSV });
    await asking();
    expect((await refusal(asking())).rawMessage).toBe("The file waits for approval already.");
    expect((await bob.client(ApprovalService).listApprovals({})).approvals).toHaveLength(1);
  });

  test("that store nothing need no approval", async () => {
    await protect();
    expect(await upload({ "user.id": [1], "user.name": ["Ann"] }, { dryRun: true })).toMatchObject({ rows: 1n, approvalId: "" });
    expect((await bob.client(ApprovalService).listApprovals({})).approvals).toEqual([]);
  });
});

test("what was made, and whose server was killed before it said so, is made no second time", async () => {
  await upload({ "user.id": [1, 2], "user.name": ["Ann", "Bo"] });
  await protect();
  const ids = [
    (await data().deleteValues({ selection: { features: ["user.name"], keys: ["1"] } })).approvalId,
    (await uploadFile("user.id,user.name\n5,Eve\n")).approvalId,
    (await upload({ "user.id": [4], "user.name": ["Di"] })).approvalId,
    (await data().migrateTypes({ selection: { features: ["user.name"] } })).approvalId,
  ];
  const path = join(folder.path, "data/meta.db");
  using before = new Database(path, { readonly: true });
  const payloads = ids.map((id) => (before.query("select payload from approval where id = ?").get(id) as { payload: string }).payload);
  // The second upload is not made before: its values are written by the attempt itself, again.
  for (const id of [ids[0], ids[1], ids[3]]) await approve(id as string);
  const { credentials } = server;
  const made = (): unknown => {
    using db = new Database(path, { readonly: true });
    return [db.query("select id, versions from deletion order by id").all(), db.query("select id, request from value_upload").all()];
  };
  const once = made();
  await server[Symbol.asyncDispose]();
  {
    using db = new Database(path);
    for (const [at, id] of ids.entries())
      if (at !== 2) db.query("update approval set applied_at = null, payload = ? where id = ?").run(payloads[at] as string, id);
    db.query("update job set state = 'queued', attempts = 0, run_at = 0, node = '', lease_until = 0 where kind = 'approved-change'").run();
    db.query("delete from job_attempt").run();
  }
  server = await TestServer.start(folder.path, { clock, credentials });
  await server.server.ready;
  bob = await bob.loggedInAgain(server);
  for (const id of [ids[0], ids[1], ids[3]])
    await eventually(async () => (await approval(id as string))?.appliedAt !== undefined, "the change counts as made");
  for (const id of [ids[0], ids[1], ids[3]])
    expect(await approval(id as string)).toMatchObject({ state: ApprovalState.APPROVED, error: "" });
  expect(made()).toEqual(once);
}, 300_000);
