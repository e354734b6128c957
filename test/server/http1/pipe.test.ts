import { describe, expect, test } from "bun:test";
import { Pipe, PipeClosed, type PipeSocket } from "../../../src/server/http1/pipe.ts";
import { isPending } from "../../harness/eventually.ts";

/** A socket that takes as many bytes as it is told to. */
function socketOf(room = 0) {
  const calls: string[] = [];
  const socket = { room, written: 0 };
  const pipe = new Pipe({
    write: (bytes: Uint8Array) => {
      const taken = Math.min(bytes.length, socket.room);
      socket.room -= taken;
      socket.written += taken;
      return taken;
    },
    ...Object.fromEntries(["terminate", "shutdown", "pause", "resume"].map((name) => [name, () => calls.push(name)])),
  } as PipeSocket);
  return { pipe, socket, calls };
}

describe("a connection", () => {
  test("holds the other side back while nobody reads", async () => {
    const { pipe, calls } = socketOf();
    for (let i = 0; i < 5; i++) pipe.received(new Uint8Array(64 * 1024));
    expect(calls).toEqual(["pause"]);
    for (let i = 0; i < 5; i++) expect((await pipe.read())?.length).toBe(64 * 1024);
    expect(calls).toEqual(["pause", "resume"]);
  });

  test("writes as much as the socket takes, and goes on when it takes more", async () => {
    const { pipe, socket } = socketOf(10);
    const writing = pipe.write(new Uint8Array(25));
    expect([await isPending(writing), socket.written]).toEqual([true, 10]);
    socket.room = 10;
    pipe.drained();
    expect([await isPending(writing), socket.written]).toEqual([true, 20]);
    socket.room = 10;
    pipe.drained();
    await writing;
    expect(socket.written).toBe(25);
  });

  test("ends reads and writes when it is closed, after what had come", async () => {
    const { pipe } = socketOf();
    pipe.received(Buffer.from("last"));
    const writing = pipe.write(new Uint8Array(1));
    pipe.closed();
    await expect(writing).rejects.toBeInstanceOf(PipeClosed);
    expect(Buffer.from((await pipe.read()) ?? []).toString()).toBe("last");
    expect(await pipe.read()).toBeUndefined();
  });

  test("drops what still comes once it is finished, and not without end", () => {
    const { pipe, calls } = socketOf();
    pipe.finish();
    expect(calls).toEqual(["shutdown"]);
    for (let i = 0; i < 16; i++) pipe.received(new Uint8Array(64 * 1024));
    expect(pipe.isClosed).toBe(false);
    pipe.received(new Uint8Array(1));
    expect([pipe.isClosed, calls.at(-1)]).toEqual([true, "terminate"]);
  });
});
