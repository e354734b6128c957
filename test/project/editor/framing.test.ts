import { expect, test } from "bun:test";
import fc from "fast-check";
import { FrameReader, FramingBroken, frame } from "../../../src/project/editor/framing.ts";
import { createRpc } from "../../../src/project/editor/rpc.ts";
import { offsetOf, positionOf } from "../../../src/project/editor/text-position.ts";
import { seeded } from "../../harness/seed.ts";

test("messages come out as they went in, however the bytes are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), fc.array(fc.nat(40), { minLength: 1 }), (messages, cuts) => {
      const bytes = Buffer.concat(messages.map(frame));
      const reader = new FrameReader();
      const got: string[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = 1 + (cuts[turn % cuts.length] as number);
        got.push(...reader.push(bytes.subarray(at, at + size)));
        at += size;
      }
      expect(got).toEqual(messages.map((message) => JSON.stringify(message)));
    }),
    seeded(200),
  );
});

test("other headers are passed over; what is no header is told", () => {
  const reader = new FrameReader();
  expect(reader.push(Buffer.from("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:2\r\n\r\n{}"))).toEqual(["{}"]);
  for (const text of ["Content-Length: x\r\n\r\n", "Content-Length: 99999999999\r\n\r\n", "a".repeat(10_000), "\r\n\r\n"])
    expect(() => new FrameReader().push(Buffer.from(text))).toThrow(FramingBroken);
});

test("offsets and positions are inverse", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "\n", "é", "😀", " ") }), fc.nat(), (text, seed) => {
      const offset = seed % (text.length + 1);
      expect(offsetOf(text, positionOf(text, offset))).toBe(offset);
    }),
    seeded(200),
  );
  expect(offsetOf("ab\ncd", { line: 0, character: 9 })).toBe(2);
  expect(offsetOf("ab\ncd", { line: 9, character: 0 })).toBe(5);
});

test("JSON-RPC: results, errors, notifications, broken messages", async () => {
  const sent: unknown[] = [];
  const errors: unknown[] = [];
  const handlers: Record<string, () => unknown> = {
    good: () => 5,
    nothing: () => undefined,
    bad: () => {
      throw new Error("broken");
    },
  };
  const rpc = createRpc(
    (message) => sent.push(message),
    (method) => handlers[method],
    (error) => errors.push(error),
  );
  const said = async (message: unknown) => {
    sent.length = 0;
    await rpc.receive(typeof message === "string" ? message : JSON.stringify(message));
    return sent.slice();
  };
  expect(await said({ jsonrpc: "2.0", id: 1, method: "good" })).toEqual([{ jsonrpc: "2.0", id: 1, result: 5 }]);
  expect(await said({ jsonrpc: "2.0", id: "a", method: "nothing" })).toEqual([{ jsonrpc: "2.0", id: "a", result: null }]);
  expect(await said({ jsonrpc: "2.0", id: 2, method: "absent" })).toMatchObject([{ id: 2, error: { code: -32601 } }]);
  expect(await said({ jsonrpc: "2.0", id: 3, method: "bad" })).toMatchObject([{ id: 3, error: { code: -32603, message: "broken" } }]);
  expect(errors.length).toBe(1);
  for (const silent of [{ method: "good" }, { method: "absent" }, { id: 9, result: null }]) expect(await said(silent)).toEqual([]);
  expect(await said("{")).toMatchObject([{ id: null, error: { code: -32700 } }]);
  expect(await said("5")).toMatchObject([{ id: null, error: { code: -32600 } }]);
  expect(await said({ id: 7 })).toMatchObject([{ id: 7, error: { code: -32600 } }]);
  expect(
    await said([
      { id: 1, method: "good" },
      { id: 2, method: "good" },
    ]),
  ).toHaveLength(2);
});
