import { describe, expect, test } from "bun:test";
import { BodyRefused, readBody } from "../../../../src/server/wire/http/body.ts";

const post = (body: BodyInit | null, headers: Record<string, string> = {}) =>
  new Request("http://localhost/", { method: "POST", body, headers });

function trickle(bytes: number, pauseMs: number): ReadableStream<Uint8Array> {
  let left = bytes;
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(pauseMs);
      if (left-- > 0) controller.enqueue(new Uint8Array(1));
      else controller.close();
    },
  });
}

describe("reading a body", () => {
  test("gives all of it, up to its limit", async () => {
    expect(await readBody(post(null), 10)).toEqual(new Uint8Array(0));
    expect(await readBody(post("0123456789"), 10)).toEqual(new TextEncoder().encode("0123456789"));
    expect((await readBody(post(trickle(5, 0)), 5)).length).toBe(5);
  });

  test("refuses what is longer, by its announcement or by its bytes", async () => {
    await expect(readBody(post("x", { "content-length": "11" }), 10)).rejects.toMatchObject({ status: 413 });
    await expect(readBody(post("0123456789a"), 10)).rejects.toMatchObject({ status: 413 });
    await expect(readBody(post(trickle(100, 0)), 10)).rejects.toBeInstanceOf(BodyRefused);
  });

  test("does not wait for ever", async () => {
    await expect(readBody(post(trickle(1_000, 5)), 10_000, { deadlineMs: 50 })).rejects.toMatchObject({ status: 408 });
    const announced = post(trickle(1_000, 5), { "content-length": "1000" });
    await expect(readBody(announced, 10_000, { deadlineMs: 50 })).rejects.toMatchObject({ status: 408 });
  });
});
