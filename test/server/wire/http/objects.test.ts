import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { DeploymentService } from "../../../../gen/svc/v1/deployment_pb.ts";
import { loadServerKeys } from "../../../../src/server/access/keys.ts";
import { createObjectAddresses } from "../../../../src/server/access/object-addresses.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";

const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
const random = (length: number) => {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, Math.min(at + 65_536, length)));
  return bytes;
};
const upload = (bytes: Uint8Array) =>
  server.client(DeploymentService).createUpload({ sha256: sha256(bytes), sizeBytes: BigInt(bytes.length) });
const put = (url: string, bytes: Uint8Array<ArrayBuffer>) => fetch(new URL(url, server.url), { method: "PUT", body: bytes });
const addresses = () =>
  createObjectAddresses({ keys: loadServerKeys(join(folder.path, "data", "server.key")).objects, clock: server.clock });

function storedFiles(): string[] {
  return readdirSync(join(folder.path, "data", "objects"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
}

describe("uploads", () => {
  test("a whole upload is kept once, and the next announcement says that it is there", async () => {
    const bytes = random(200_000);
    const first = await upload(bytes);
    expect([first.complete, first.uploadId.slice(0, 4), first.url.slice(0, 12)]).toEqual([false, "upl_", "/v1/objects/"]);
    expect((await put(first.url, bytes)).status).toBe(201);
    expect((await put(first.url, bytes)).status).toBe(201);
    expect((await upload(bytes)).complete).toBe(true);
    expect(storedFiles()).toContain(sha256(bytes));
  });

  test("other bytes, too few and too many are refused and leave nothing", async () => {
    const bytes = random(5_000);
    const { url } = await upload(bytes);
    const before = storedFiles();
    const changed = bytes.slice();
    changed[17] = (changed[17] ?? 0) ^ 1;
    for (const wrong of [changed, bytes.slice(0, 4_999), random(5_001)]) {
      const response = await put(url, wrong);
      expect(response.status).toBe(400);
    }
    expect(storedFiles()).toEqual(before);
    expect((await upload(bytes)).complete).toBe(false);
  });

  test("an upload cut in the middle leaves nothing and can be repeated", async () => {
    const bytes = random(400_000);
    const { url, uploadId } = await upload(bytes);
    const before = storedFiles();
    await new Promise<void>((resolve, reject) => {
      const socket = connect(server.server.port, "127.0.0.1", () => {
        const host = new URL(server.url).host;
        socket.write(`PUT ${url} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${bytes.length}\r\n\r\n`);
        socket.write(bytes.subarray(0, 150_000), () => socket.destroy());
      });
      socket.on("close", () => resolve());
      socket.on("error", reject);
    });
    while (storedFiles().length !== before.length) await Bun.sleep(5);
    expect(storedFiles()).toEqual(before);
    const error = await server
      .client(DeploymentService)
      .createDeployment({ uploadId })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectError);
    expect((error as ConnectError).code).toBe(Code.FailedPrecondition);
    expect((await server.client(DeploymentService).listDeployments({})).deployments).toEqual([]);
    expect((await put(url, bytes)).status).toBe(201);
    expect((await upload(bytes)).complete).toBe(true);
  });

  test.each([
    ["no digest", "xyz", 5n],
    ["upper case", "A".repeat(64), 5n],
    ["a path", `../${"a".repeat(61)}`, 5n],
    ["no bytes", "a".repeat(64), 0n],
    ["too many bytes", "a".repeat(64), 128n * 1024n * 1024n + 1n],
  ])("an announcement with %s is refused", async (_name, digest, sizeBytes) => {
    const error = await server
      .client(DeploymentService)
      .createUpload({ sha256: digest, sizeBytes })
      .catch((reason: unknown) => reason);
    expect((error as ConnectError).code).toBe(Code.InvalidArgument);
  });
});

describe("addresses", () => {
  test("every change of a signed address is refused", async () => {
    const bytes = random(1_000);
    const url = new URL((await upload(bytes)).url, server.url);
    const tampered = [
      (copy: URL) => copy.searchParams.set("size", "999"),
      (copy: URL) => copy.searchParams.set("expires", String(Number(copy.searchParams.get("expires")) + 1)),
      (copy: URL) => copy.searchParams.set("op", "get"),
      (copy: URL) => copy.searchParams.set("signature", "x"),
      (copy: URL) => copy.searchParams.delete("signature"),
      (copy: URL) => {
        copy.pathname = `/v1/objects/${"0".repeat(64)}`;
      },
    ];
    for (const change of tampered) {
      const copy = new URL(url);
      change(copy);
      expect((await put(copy.href, bytes)).status).toBe(403);
    }
    expect((await fetch(url)).status).toBe(403);
    expect((await fetch(url, { method: "DELETE" })).status).toBe(405);
    expect((await put(url.href, bytes)).status).toBe(201);
  });

  test("an upload that asks to replace nothing is refused when the object is there", async () => {
    const bytes = random(2_000);
    const { url } = await upload(bytes);
    const putOnce = () =>
      fetch(new URL(url, server.url), { method: "PUT", body: bytes, headers: { "if-none-match": "*" } }).then(({ status }) => status);
    expect([await putOnce(), await putOnce()]).toEqual([201, 412]);
    expect((await put(url, bytes)).status).toBe(201);
  });

  test("an object that is named otherwise than by its digest is kept as it comes", async () => {
    const { url } = addresses().sign("put", "others/1", 5);
    const response = await put(url, new TextEncoder().encode("hello"));
    expect([response.status, response.headers.get("etag")]).toEqual([201, `"${sha256(new TextEncoder().encode("hello"))}"`]);
    const got = await fetch(new URL(addresses().sign("get", "others/1", 5).url, server.url));
    expect([await got.text(), got.headers.get("etag")]).toEqual(["hello", null]);
  });

  test("an address ends", async () => {
    const bytes = random(10);
    const { url } = await upload(bytes);
    server.clock.advance(901_000);
    const response = await put(url, bytes);
    server.clock.advance(-901_000);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ message: "The address has expired. Ask for a new one." });
  });
});

describe("downloads", () => {
  const bytes = random(1_000);
  beforeAll(async () => {
    expect((await put((await upload(bytes)).url, bytes)).status).toBe(201);
  });

  test("the whole, and its parts by range", async () => {
    const url = new URL(addresses().sign("get", sha256(bytes), bytes.length).url, server.url);
    const get = async (range?: string) => {
      const response = await fetch(url, range === undefined ? {} : { headers: { range } });
      return { status: response.status, range: response.headers.get("content-range"), body: await response.bytes() };
    };
    expect(await get()).toEqual({ status: 200, range: null, body: bytes });
    expect(await get("bytes=0-9")).toEqual({ status: 206, range: "bytes 0-9/1000", body: bytes.slice(0, 10) });
    expect(await get("bytes=990-")).toEqual({ status: 206, range: "bytes 990-999/1000", body: bytes.slice(990) });
    expect(await get("bytes=990-5000")).toEqual({ status: 206, range: "bytes 990-999/1000", body: bytes.slice(990) });
    expect(await get("bytes=-5")).toEqual({ status: 206, range: "bytes 995-999/1000", body: bytes.slice(995) });
    expect((await get("bytes=1000-")).status).toBe(416);
    expect((await get("bytes=9-5")).status).toBe(200);
    expect((await get("lines=1-2")).status).toBe(200);
    const head = await fetch(url, { method: "HEAD" });
    expect([head.status, head.headers.get("etag")]).toEqual([200, `"${sha256(bytes)}"`]);
  });

  test("an address for what is not there is 404", async () => {
    const url = new URL(addresses().sign("get", "f".repeat(64), 5).url, server.url);
    expect((await fetch(url)).status).toBe(404);
  });
});
