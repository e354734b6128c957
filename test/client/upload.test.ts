import { expect, test } from "bun:test";
import { testContext } from "./test-context.ts";

const BYTES = crypto.getRandomValues(new Uint8Array(60_000)).toHex().repeat(10);

test("an upload has its length, arrives whole, and tells what was sent; one that the server was not ready for begins anew", async () => {
  const arrived: (readonly [string | null, boolean])[] = [];
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const text = await request.text();
      arrived.push([request.headers.get("content-length"), text === BYTES]);
      return new Response(null, arrived.length === 1 ? { status: 503, headers: { "retry-after": "0" } } : { status: 201 });
    },
  });
  const url = `http://127.0.0.1:${server.port}`;
  const { context } = await testContext({ env: { SVC_API_SERVER: url } });
  const sent: number[] = [];
  await context.http.upload("/objects/1", new TextEncoder().encode(BYTES), (bytes) => sent.push(bytes));
  const whole = [String(BYTES.length), true] as const;
  expect(arrived).toEqual([whole, whole]);
  const attempt = [262_144, 524_288, 786_432, 1_048_576, 1_200_000];
  expect(sent).toEqual([...attempt, ...attempt]);
});
