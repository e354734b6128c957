/** Files over HTTP: what is counted, what is followed, and for how long it waits. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createWireFetch } from "../../src/client/fetch.ts";
import { createRedactor } from "../../src/client/redact.ts";
import { createCommandRetries } from "../../src/client/retry.ts";
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

async function get(
  path: string,
  options: { maxBytes?: number; stallMs?: number; base?: string; signal?: AbortSignal; onBytes?: (total: number) => void } = {},
) {
  const base = options.base ?? `http://127.0.0.1:${server.port}`;
  const { context } = await testContext({ signal: options.signal });
  const access = {
    fetch: createWireFetch(context, { redactor: createRedactor(), proxies: () => undefined }),
    retry: createCommandRetries(context, createRedactor()),
    origin: { base, isUrl: true, source: { kind: "flag", name: "--from" } as const },
    stallMs: options.stallMs,
  };
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of downloadUrl(access, `${base}${path}`, options.maxBytes ?? 1_000_000)) {
    parts.push(part);
    total += part.length;
    options.onBytes?.(total);
  }
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

describe("a host that fails for a while", () => {
  const CONTENT = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  const head = (status: string, length: number, more = "") =>
    `HTTP/1.1 ${status}\r\ncontent-length: ${length}\r\nconnection: close\r\n${more}\r\n`;

  /**
   * Answers request after request by `answers`, the last one for all that follow. A connection
   * closes after a whole answer, and when as many bytes of the file have arrived as `CUT` says.
   * Returns what was asked for.
   */
  async function asking(answers: readonly ((offset: number) => Buffer | string)[]) {
    const offsets: number[] = [];
    let open: Bun.Socket | undefined;
    const host = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket, chunk) {
          const offset = Number(/range: bytes=(\d+)-/i.exec(chunk.toString())?.[1] ?? 0);
          const answer = answers[Math.min(offsets.length, answers.length - 1)];
          offsets.push(offset);
          if (answer === atCut) {
            open = socket;
            socket.write(answer(offset));
          } else if (answer) socket.end(answer(offset));
        },
      },
    });
    try {
      const outcome = await get("/file", {
        base: `http://127.0.0.1:${host.port}`,
        onBytes: (total) => void (total === CUT && open?.end()),
      }).catch((error: unknown) => error);
      return { outcome, offsets };
    } finally {
      host.stop(true);
    }
  }

  const CUT = 50_000;
  const atCut = () => Buffer.concat([Buffer.from(head("200 OK", CONTENT.length)), CONTENT.subarray(0, CUT)]);
  const earlier = () => Buffer.concat([Buffer.from(head("200 OK", CONTENT.length)), CONTENT.subarray(0, CUT / 2)]);
  const rest = (offset: number) =>
    Buffer.concat([
      Buffer.from(
        head("206 Partial Content", CONTENT.length - offset, `content-range: bytes ${offset}-${CONTENT.length - 1}/${CONTENT.length}\r\n`),
      ),
      CONTENT.subarray(offset),
    ]);
  const whole = () => Buffer.concat([Buffer.from(head("200 OK", CONTENT.length)), CONTENT]);

  test("is asked for the rest of a file that was cut", async () => {
    const { outcome, offsets } = await asking([atCut, rest]);
    expect(outcome).toEqual(CONTENT);
    expect(offsets).toEqual([0, CUT]);
  });

  test("may send it from the beginning, where it knows no ranges", async () => {
    expect((await asking([atCut, earlier, whole])).outcome).toEqual(CONTENT);
  });

  test("is not believed when it sends another part", async () => {
    const { outcome } = await asking([atCut, () => rest(7)]);
    expect(outcome).toEqual(code("release_unreachable"));
  });

  test("is asked again after 503, and after a connection that closed without a word", async () => {
    expect((await asking([() => head("503 Service Unavailable", 0), () => "", whole])).outcome).toEqual(CONTENT);
  });

  test("is given up after some attempts, and at once after an answer that will stay what it is", async () => {
    const { outcome, offsets } = await asking([() => head("503 Service Unavailable", 0)]);
    expect(outcome).toEqual(code("release_unreachable"));
    expect(offsets).toEqual([0, 0, 0, 0]);
    expect((await asking([() => head("500 Internal Server Error", 0)])).offsets).toEqual([0]);
    expect((await asking([() => head("404 Not Found", 0)])).offsets).toEqual([0]);
  });
});
