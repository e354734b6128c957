/** Datasets on a running server: uploads, addresses, and who may do what. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { truncateSync } from "node:fs";
import { join } from "node:path";
import { DatasetRevisionState, DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import { ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import { exchange } from "../../harness/browser-session.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";

const PART = 64 * 1024;
const digest = (bytes: Uint8Array): string => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

let folder: TempFolder;
let server: TestServer;
const service = () => server.client(DatasetService);

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

type Files = Readonly<Record<string, Uint8Array<ArrayBuffer>>>;

const announced = (files: Files) =>
  Object.entries(files).map(([name, content]) => ({ name, bytes: BigInt(content.length), sha256: digest(content) }));

async function put(url: string, bytes: Uint8Array<ArrayBuffer>): Promise<Response> {
  return fetch(new URL(url, server.url), { method: "PUT", body: bytes });
}

/** Sends the parts of an upload and returns their addresses. */
async function send(uploadId: string, files: Files, partBytes: number): Promise<string[]> {
  const urls: string[] = [];
  for (const [file, content] of Object.values(files).entries())
    for (let part = 0; part * partBytes < content.length; part++) {
      const bytes = content.slice(part * partBytes, (part + 1) * partBytes);
      const { uris } = await service().getDatasetUploadUris({ uploadId, parts: [{ file, part, sha256: digest(bytes) }] });
      if (uris[0]?.complete) continue;
      urls.push(uris[0]?.url ?? "");
      expect((await put(uris[0]?.url ?? "", bytes)).status).toBe(201);
    }
  return urls;
}

async function upload(datasetName: string, files: Files) {
  const { uploadId, partBytes } = await service().createDatasetUpload({ datasetName, files: announced(files), partBytes: BigInt(PART) });
  const urls = await send(uploadId, files, Number(partBytes));
  const { dataset, revision } = await service().finalizeDatasetUpload({ uploadId });
  return { uploadId, urls, dataset: dataset?.id ?? "", revision: revision?.id ?? "", number: revision?.number };
}

async function linksOf(revisionId: string): Promise<{ name: string; url: string }[]> {
  const links: { name: string; url: string }[] = [];
  for await (const { link } of service().streamDatasetLinks({ revisionId }))
    if (link) links.push({ name: link.file?.name ?? "", url: link.url });
  return links;
}

const code = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: Error) => error.message,
  );

describe("uploads", () => {
  test("two of one name at once are two revisions, numbered in order", async () => {
    const made = await Promise.all(["a", "b"].map((text) => upload("at-once", { "x.txt": bytesOf(text) })));
    expect(made.map(({ number }) => number).sort()).toEqual([1, 2]);
    expect(new Set(made.map(({ dataset }) => dataset)).size).toBe(1);
    const { dataset, revisions } = await service().getDataset({ dataset: "at-once" });
    expect([dataset?.revisions, revisions.map(({ number }) => number)]).toEqual([2, [2, 1]]);
  });

  test("one that was cut off is the same one, and asks for what is missing alone", async () => {
    const files = { "big.bin": crypto.getRandomValues(new Uint8Array(3 * PART)) };
    const wish = { datasetName: "resumed", files: announced(files), partBytes: BigInt(PART) };
    const first = await service().createDatasetUpload(wish);
    const parts = [0, 1, 2].map((part) => ({ file: 0, part, sha256: digest(files["big.bin"].slice(part * PART, (part + 1) * PART)) }));
    const { uris } = await service().getDatasetUploadUris({ uploadId: first.uploadId, parts });
    expect((await put(uris[1]?.url ?? "", files["big.bin"].slice(PART, 2 * PART))).status).toBe(201);
    expect(await code(service().finalizeDatasetUpload({ uploadId: first.uploadId }))).toContain("Part 1 of 'big.bin' has not arrived.");
    const again = await service().createDatasetUpload(wish);
    expect(again).toEqual(first);
    const asked = await service().getDatasetUploadUris({ uploadId: again.uploadId, parts });
    expect(asked.uris.map(({ complete }) => complete)).toEqual([false, true, false]);
    expect(await code(service().getDataset({ dataset: first.revisionId }))).toBe("ok");
    expect((await service().listDatasets({ search: "resumed" })).datasets).toEqual([]);
    await send(again.uploadId, files, PART);
    const made = await Promise.all([1, 2].map(() => service().finalizeDatasetUpload({ uploadId: again.uploadId })));
    expect(made.map(({ revision }) => [revision?.id, revision?.number])).toEqual([
      [first.revisionId, 1],
      [first.revisionId, 1],
    ]);
    expect((await service().createDatasetUpload(wish)).uploadId).not.toBe(first.uploadId);
  });

  test("a part that is not as announced is refused, and so is one after the end", async () => {
    const { uploadId, urls } = await upload("parts", { "x.bin": bytesOf("0123456789") });
    expect((await put(urls[0] ?? "", bytesOf("0123456789"))).status).toBe(403);
    expect(await code(service().getDatasetUploadUris({ uploadId, parts: [] }))).toContain("The upload is over: its revision is complete.");
    const open = await service().createDatasetUpload({ datasetName: "parts", files: announced({ "y.bin": bytesOf("0123456789") }) });
    const part = { file: 0, part: 0, sha256: digest(bytesOf("abcdefghij")) };
    const { uris } = await service().getDatasetUploadUris({ uploadId: open.uploadId, parts: [part] });
    expect((await put(uris[0]?.url ?? "", bytesOf("0123456789"))).status).toBe(400);
    expect((await put(uris[0]?.url ?? "", bytesOf("abcdefghij"))).status).toBe(201);
    expect(await code(service().finalizeDatasetUpload({ uploadId: open.uploadId }))).toContain(
      "The parts of 'y.bin' do not make up the file that was announced.",
    );
    for (const wrong of [{ part: 1 }, { part: -1 }, { file: 1 }, { sha256: "x" }])
      expect(await code(service().getDatasetUploadUris({ uploadId: open.uploadId, parts: [{ ...part, ...wrong }] }))).toContain(
        "The upload has no part",
      );
  });

  test.each([
    ["../a", "The name of a file cannot be"],
    ["a\u202eb", "The name of a file cannot be"],
    ["", "The name of a file cannot be"],
  ])("a file called %j is refused", async (name, says) => {
    const files = [{ name, bytes: 1n, sha256: "0".repeat(64) }];
    expect(await code(service().createDatasetUpload({ datasetName: "names", files }))).toContain(says);
  });

  test("what cannot be one revision is refused before anything is sent", async () => {
    const ask = (files: { name: string; bytes?: bigint; sha256?: string }[], datasetName = "d") =>
      code(service().createDatasetUpload({ datasetName, files: files.map((file) => ({ bytes: 1n, sha256: "0".repeat(64), ...file })) }));
    expect(await ask([])).toContain("An upload has 1 to 1000 files");
    expect(await ask([{ name: "a" }, { name: "a" }])).toContain("Two files of the upload are called 'a'.");
    expect(await ask([{ name: "a.csv" }, { name: "a.csv.parquet" }])).toContain("Two files of the upload are called 'a.csv.parquet'.");
    expect(await ask([{ name: "a.csv" }, { name: "b.txt" }])).toContain("'a.csv' is a table and 'b.txt' is none");
    expect(await ask([{ name: "a", bytes: 0n }])).toContain("The file 'a' is empty.");
    expect(await ask([{ name: "a", bytes: 2n ** 40n }])).toContain("at most 4294967296");
    expect(await ask([{ name: "a", sha256: "0" }])).toContain("is no SHA-256");
    expect(await ask([{ name: "a" }], "rev_1")).toContain("because ids begin like that");
  });

  test("tables of text are typed, joined over the files, and kept as Parquet beside what was given", async () => {
    const { revision } = await upload("money", {
      "1.csv": bytesOf("id,amount\n1,2\n2,3\n"),
      "2.csv": bytesOf("id,amount\n3,4.5\n"),
    });
    const { columns, files, revision: found } = await service().getDataset({ dataset: revision });
    expect(columns.map(({ name, type }) => [name, type])).toEqual([
      ["id", "int"],
      ["amount", "float"],
    ]);
    expect(files.map(({ name }) => name)).toEqual(["1.csv.parquet", "1.csv", "2.csv.parquet", "2.csv"]);
    expect(found?.rows).toBe(3n);
    expect((await linksOf(revision)).map(({ name }) => name)).toEqual(["1.csv.parquet", "2.csv.parquet"]);
  }, 300_000);

  test("a wrong table ends the upload, and the older revision stays", async () => {
    const before = await upload("tables", { "a.csv": bytesOf("id\n1\n") });
    expect(await code(upload("tables", { "cut.parquet": bytesOf("PAR1 and no more") }))).toContain(
      "'cut.parquet' cannot be read as Parquet",
    );
    const differ = { "a.csv": bytesOf("id\n1\n"), "b.csv": bytesOf("name\nx\n") };
    expect(await code(upload("tables", differ))).toContain("column 1 is 'id' in 'a.csv' and 'name' in 'b.csv'");
    const { revision, revisions } = await service().getDataset({ dataset: "tables" });
    expect([revision?.id, revisions.length]).toEqual([before.revision, 1]);
  }, 300_000);
});

describe("addresses", () => {
  test("need no token, give ranges, and are bound to their object", async () => {
    const { revision } = await upload("ranges", { "Grüße 1.txt": bytesOf("0123456789"), "b.txt": bytesOf("b") });
    const [{ url = "" } = {}, other] = await linksOf(revision);
    const whole = await fetch(new URL(url, server.url));
    const etag = `"${digest(bytesOf("0123456789"))}"`;
    expect([whole.status, await whole.text(), whole.headers.get("etag")]).toEqual([200, "0123456789", etag]);
    expect(whole.headers.get("content-disposition")).toBe(`attachment; filename="Gr__e 1.txt"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%201.txt`);
    const get = async (headers: Record<string, string>) => {
      const response = await fetch(new URL(url, server.url), { headers });
      return [response.status, await response.text()];
    };
    expect(await get({ range: "bytes=4-" })).toEqual([206, "456789"]);
    expect(await get({ range: "bytes=4-", "if-range": etag })).toEqual([206, "456789"]);
    expect(await get({ range: "bytes=4-", "if-range": '"another"' })).toEqual([200, "0123456789"]);
    expect((await put(url, bytesOf("x"))).status).toBe(403);
    const swapped = new URL(url, server.url);
    swapped.pathname = new URL(other?.url ?? "", server.url).pathname;
    expect((await fetch(swapped)).status).toBe(403);
    server.clock.advance(901_000);
    expect((await fetch(new URL(url, server.url))).status).toBe(403);
    server.clock.advance(-901_000);
  });

  test("of an archived revision are dead, those given out before too", async () => {
    const { revision } = await upload("archived", { "a.txt": bytesOf("a") });
    const [link] = await linksOf(revision);
    const { revision: archived } = await service().archiveDatasetRevision({ revisionId: revision });
    expect(archived?.state).toBe(DatasetRevisionState.ARCHIVED);
    expect((await fetch(new URL(link?.url ?? "", server.url))).status).toBe(403);
    expect(await code(linksOf(revision))).toContain("is archived, so its files cannot be read");
    expect((await service().getDataset({ dataset: revision })).files).toEqual([]);
    expect((await service().listDatasets({ search: "archived" })).datasets).toEqual([]);
    expect((await service().archiveDatasetRevision({ revisionId: revision })).revision?.archivedAt).toEqual(archived?.archivedAt);
  });

  test("come while a revision is being written, until it is complete", async () => {
    const files = { "a.bin": bytesOf("a") };
    const { uploadId, revisionId } = await service().createDatasetUpload({ datasetName: "streamed", files: announced(files) });
    const streamed = linksOf(revisionId);
    await send(uploadId, files, PART);
    await service().finalizeDatasetUpload({ uploadId });
    expect((await streamed).map(({ name }) => name)).toEqual(["a.bin"]);
  });

  test("an object that was cut short on the disk is not passed off as the file", async () => {
    const { revision } = await upload("damaged", { "a.txt": bytesOf("0123456789") });
    const [link] = await linksOf(revision);
    const key = new URL(link?.url ?? "", server.url).pathname.slice("/v1/objects/".length);
    truncateSync(join(folder.path, "data/objects/da", key), 4);
    const got = await fetch(new URL(link?.url ?? "", server.url));
    expect(`"${digest(new Uint8Array(await got.arrayBuffer()))}"`).not.toBe(got.headers.get("etag") ?? "");
  });
});

describe("names", () => {
  test("belong to one dataset, whoever asks first", async () => {
    const { dataset } = await upload("one", { "a.txt": bytesOf("a") });
    await upload("two", { "a.txt": bytesOf("a") });
    const answers = await Promise.all(["one", "two"].map((datasetName) => code(service().renameDataset({ datasetName, newName: "both" }))));
    expect(answers.sort()).toEqual(["[already_exists] There is a dataset 'both' already.", "ok"]);
    const { dataset: renamed } = await service().renameDataset({ datasetName: dataset, newName: "third" });
    expect([renamed?.id, renamed?.name]).toEqual([dataset, "third"]);
    expect(await code(service().renameDataset({ datasetName: "none", newName: "x" }))).toContain("There is no dataset or revision 'none'");
    expect(await code(service().renameDataset({ datasetName: "third", newName: " x" }))).toContain("cannot be");
  });
});

describe("other environments and permissions", () => {
  test("a dataset is of its environment alone, and values are for those who may read them", async () => {
    const { dataset, revision, uploadId } = await upload("secret", { "a.csv": bytesOf("id\n17\n") });
    using db = new Database(join(folder.path, "data/meta.db"));
    db.run("insert into environment (id, name, project_id, created_at) select 'env_2', 'staging', project_id, 1 from environment");
    const tokens = server.client(ServiceTokenService);
    const token = async (permissions: string[], environments: string[]): Promise<string> => {
      const { clientSecret, serviceToken } = await tokens.createServiceToken({ name: "t", permissions, environments });
      return exchange(server.url, serviceToken?.clientId ?? "", clientSecret);
    };
    const every = ["read", "query.offline", "data.write"];
    const elsewhere = server.client(DatasetService, { token: await token(every, ["staging"]), headers: { "svc-environment": "staging" } });
    for (const call of [
      () => elsewhere.getDataset({ dataset }),
      () => elsewhere.getDataset({ dataset: revision }),
      () => elsewhere.getDataset({ dataset: "secret" }),
      () => elsewhere.renameDataset({ datasetName: dataset, newName: "mine" }),
      () => elsewhere.archiveDatasetRevision({ revisionId: revision }),
      () => elsewhere.finalizeDatasetUpload({ uploadId }),
      () => elsewhere.getDatasetUploadUris({ uploadId }),
      () => Array.fromAsync(elsewhere.streamDatasetLinks({ revisionId: revision })),
    ])
      expect(await code(call())).toContain("[not_found]");
    expect((await elsewhere.listDatasets({})).datasets).toEqual([]);

    const reads = server.client(DatasetService, { token: await token(["read"], []), headers: { "svc-environment": "default" } });
    const columnOf = async (client: typeof reads) => (await client.getDataset({ dataset: revision })).columns[0]?.statistics;
    await eventually(async () => (await columnOf(service())) !== undefined, "statistics are computed");
    expect(await columnOf(service())).toMatchObject({ distinct: 1n, min: "17", max: "17" });
    expect(await columnOf(reads)).toMatchObject({ distinct: 1n, nulls: 0n });
    expect((await columnOf(reads))?.min).toBeUndefined();
    expect(await code(Array.fromAsync(reads.streamDatasetLinks({ revisionId: revision })))).toContain("query.offline");
  }, 300_000);

  test("over plain HTTP", async () => {
    const { dataset, revision } = await upload("a b/ü", { "a.txt": bytesOf("hello") });
    const headers = { authorization: `Bearer ${await server.token()}` };
    const get = async (path: string) => fetch(`${server.url}/v1/datasets/${path}`, { headers });
    const described = (await (await get(encodeURIComponent("a b/ü"))).json()) as Record<string, unknown>;
    expect(described).toMatchObject({
      dataset: { id: dataset, name: "a b/ü", revisions: 1 },
      revision: { id: revision, state: "complete", rows: 0, bytes: 5 },
      files: [{ name: "a.txt", kind: "output", bytes: 5 }],
    });
    const { files } = (await (await get(`${revision}?links=true`)).json()) as { files: { url: string }[] };
    expect(await (await fetch(new URL(files[0]?.url ?? "", server.url))).text()).toBe("hello");
    expect((await get("none")).status).toBe(404);
    expect((await get("%ff")).status).toBe(400);
    expect((await fetch(`${server.url}/v1/datasets/x`, { method: "POST", headers })).status).toBe(405);
  });
});
