/** Files over HTTP: what is counted, what is followed, and for how long it waits. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createWireFetch } from "../../src/client/fetch.ts";
import { createRedactor } from "../../src/client/redact.ts";
import { downloadUrl } from "../../src/release/http-source.ts";
import { testContext } from "../harness/context.ts";

const BODY = new Uint8Array(100_000).fill(7);
let server: Bun.Server<undefined>;
let silent: Bun.TCPSocketListener;
beforeAll(() => {
  silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === "/file") return new Response(BODY);
      if (pathname === "/turn") return new Response(null, { status: 307, headers: { location: "/file" } });
      if (pathname === "/away") return new Response(null, { status: 302, headers: { location: "ftp://127.0.0.1/file" } });
      if (pathname === "/lost") return new Response(null, { status: 302 });
      if (pathname === "/packed") return new Response(Bun.gzipSync(BODY), { headers: { "content-encoding": "gzip" } });
      if (pathname === "/stuck")
        return new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(BODY);
            },
          }),
        );
      return new Response("no", { status: pathname === "/gone" ? 410 : 404 });
    },
  });
});
afterAll(async () => {
  silent.stop(true);
  await server.stop(true);
});

async function get(path: string, options: { maxBytes?: number; stallMs?: number; base?: string; signal?: AbortSignal } = {}) {
  const base = options.base ?? `http://127.0.0.1:${server.port}`;
  const { context } = await testContext({ signal: options.signal });
  const access = {
    fetch: createWireFetch(context, createRedactor()),
    origin: { base, isUrl: true, source: { kind: "flag", name: "--from" } as const },
    stallMs: options.stallMs,
  };
  const parts: Uint8Array[] = [];
  for await (const part of downloadUrl(access, `${base}${path}`, options.maxBytes ?? 1_000_000)) parts.push(part);
  return Buffer.concat(parts);
}

const code = (value: string) => expect.objectContaining({ code: value });

describe("a file", () => {
  test("comes whole, also over a redirect", async () => {
    expect((await get("/file")).equals(BODY)).toBe(true);
    expect((await get("/turn")).equals(BODY)).toBe(true);
  });

  test("may be exactly as long as it may be, and no byte longer", async () => {
    expect((await get("/file", { maxBytes: BODY.length })).length).toBe(BODY.length);
    await expect(get("/file", { maxBytes: BODY.length - 1 })).rejects.toEqual(code("release_too_large"));
    await expect(get("/stuck", { maxBytes: BODY.length - 1, stallMs: 5_000 })).rejects.toEqual(code("release_too_large"));
  });

  test("is taken as its bytes are, whatever the answer says about their encoding", async () => {
    expect(Bun.gunzipSync(await get("/packed")).length).toBe(BODY.length);
  });

  test("that is not there", async () => {
    await expect(get("/missing")).rejects.toEqual(code("release_not_found"));
    await expect(get("/gone")).rejects.toEqual(code("release_not_found"));
  });

  test("behind an address that is none, or of another kind", async () => {
    await expect(get("/lost")).rejects.toEqual(code("release_unreachable"));
    await expect(get("/away")).rejects.toEqual(code("release_insecure"));
  });
});

describe("waiting", () => {
  test("ends when nothing answers, and when nothing more comes", async () => {
    await expect(get("/file", { base: `http://127.0.0.1:${silent.port}`, stallMs: 50 })).rejects.toThrow(/no answer within 0\.05 s/);
    await expect(get("/stuck", { stallMs: 50 })).rejects.toEqual(code("release_unreachable"));
  });

  test("ends at once when the command is interrupted", async () => {
    const controller = new AbortController();
    const reason = new Error("interrupted");
    setTimeout(() => controller.abort(reason), 20);
    await expect(get("/file", { base: `http://127.0.0.1:${silent.port}`, signal: controller.signal })).rejects.toBe(reason);
  });
});
