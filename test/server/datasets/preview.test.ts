/** The first rows of datasets: typed, bounded, and without what is personal. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import { fromProtoValue } from "../../../src/domain/proto-value.ts";
import { exchange } from "../../harness/browser-session.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";

let folder: TempFolder;
let server: TestServer;
const service = () => server.client(DatasetService);

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  await server.server.ready;
  const features = `from svc.features import feature, features

@features
class User:
    id: int
    email: str = feature(tags=["pii"])
`;
  expectLive(await deploy(server, { "features.py": features }));
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function upload(datasetName: string, files: Record<string, string>): Promise<string> {
  const digest = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");
  const given = Object.entries(files).map(([name, text]) => ({ name, bytes: BigInt(text.length), sha256: digest(text) }));
  const { partBytes, uploadId } = await service().createDatasetUpload({ datasetName, files: given });
  const size = Number(partBytes);
  for (const [file, text] of Object.values(files).entries())
    for (let part = 0; part * size < text.length; part++) {
      const body = text.slice(part * size, (part + 1) * size);
      const { uris } = await service().getDatasetUploadUris({ uploadId, parts: [{ file, part, sha256: digest(body) }] });
      expect((await fetch(new URL(uris[0]?.url ?? "", server.url), { method: "PUT", body })).ok).toBe(true);
    }
  return (await service().finalizeDatasetUpload({ uploadId })).revision?.id ?? "";
}

const refusal = async (call: Promise<unknown>): Promise<ConnectError> =>
  call.then(
    () => Promise.reject(new Error("the call was not refused")),
    (error: unknown) => ConnectError.from(error),
  );
const rowsOf = ({ columns }: Awaited<ReturnType<ReturnType<typeof service>["previewDataset"]>>) =>
  columns.map(({ name, values }) => [name, values.map((value) => fromProtoValue(value))]);

test("rows of several files are shown in order, typed, without personal features", async () => {
  const one = '{"user.id": 1, "user.email": "a@example.com", "score": 0.5}\n{"user.id": 2, "user.email": "b@example.com", "score": null}\n';
  const two = '{"user.id": 3, "user.email": "c@example.com", "score": 2.5}\n';
  const revision = await upload("people", { "a.jsonl": one, "b.jsonl": two });
  const all = await service().previewDataset({ dataset: "people", rows: 100 });
  expect(all).toMatchObject({ revisionId: revision, rows: 3, truncated: false, hiddenColumns: ["user.email"] });
  expect(rowsOf(all)).toEqual([
    ["user.id", [1, 2, 3]],
    ["score", [0.5, null, 2.5]],
  ]);
  expect(JSON.stringify(rowsOf(all))).not.toContain("example.com");
  expect(rowsOf(await service().previewDataset({ dataset: revision, rows: 1 }))).toEqual([
    ["user.id", [1]],
    ["score", [0.5]],
  ]);
  const headers = { authorization: `Bearer ${await server.token()}` };
  const answer = await fetch(`${server.url}/v1/datasets/people?preview=2`, { headers });
  expect(await answer.json()).toMatchObject({
    dataset: { name: "people" },
    preview: {
      columns: [
        { name: "user.id", type: "int" },
        { name: "score", type: "float" },
      ],
      rows: [
        [1, 0.5],
        [2, null],
      ],
      truncated: false,
    },
  });
  expect((await fetch(`${server.url}/v1/datasets/people?preview=x`, { headers })).status).toBe(400);
}, 300_000);

test("it is bounded by rows and by length, and says when it ends early", async () => {
  const long = Array.from({ length: 900 }, (_, id) => JSON.stringify({ id, text: "x".repeat(10_000) })).join("\n");
  await upload("long", { "a.jsonl": long });
  const shown = await service().previewDataset({ dataset: "long", rows: 900 });
  expect(shown.truncated).toBe(true);
  expect(shown.rows).toBeWithin(100, 500);
  for (const rows of [0, -1, 1_001])
    expect((await refusal(service().previewDataset({ dataset: "long", rows }))).code).toBe(Code.InvalidArgument);
}, 300_000);

test("a suspended environment takes no uploads", async () => {
  const environments = server.client(EnvironmentService);
  await environments.suspendEnvironment({});
  expect((await refusal(upload("late", { "a.txt": "hello" }))).rawMessage).toContain("is suspended");
  await environments.resumeEnvironment({});
  expect(await upload("late", { "a.txt": "hello" })).toStartWith("rev_");
}, 300_000);

test("what is no table, and who may not read values, is refused", async () => {
  await upload("text", { "a.txt": "hello" });
  expect((await refusal(service().previewDataset({ dataset: "text", rows: 1 }))).code).toBe(Code.FailedPrecondition);
  expect((await refusal(service().previewDataset({ dataset: "none", rows: 1 }))).code).toBe(Code.NotFound);
  const { clientSecret, serviceToken } = await server.client(ServiceTokenService).createServiceToken({ name: "r", permissions: ["read"] });
  const token = await exchange(server.url, serviceToken?.clientId ?? "", clientSecret);
  const reader = server.client(DatasetService, { token });
  expect((await refusal(reader.previewDataset({ dataset: "text", rows: 1 }))).code).toBe(Code.PermissionDenied);
  expect((await fetch(`${server.url}/v1/datasets/text?preview=1`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(403);
}, 300_000);
