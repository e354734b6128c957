import { afterEach, describe, expect, test } from "bun:test";
import { Thread, type ThreadOptions } from "../../../src/server/thread/rpc.ts";
import { type Tally, TallyError, type TallyEvents, type TallySettings } from "./tally-worker.ts";

let thread: Thread<Tally, TallySettings, TallyEvents>;
const start = (options: Partial<ThreadOptions<TallySettings, TallyEvents>> = {}) => {
  thread = new Thread({ entry: "../../test/server/thread/tally-worker.ts", settings: { from: 10 }, ...options });
  return thread;
};
afterEach(() => thread.terminate());

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("calls of a thread", () => {
  test("are answered in the order in which they are made, each with its own result, and events come before", async () => {
    const told: (readonly [number, number])[] = [];
    const tally = start({ listeners: { added: (amount, sum) => void told.push([amount, sum]) } });
    const results = await Promise.all([tally.call("add", [1]), tally.call("add", [2, 3]), tally.call("sizeOf", [new Uint8Array(4)])]);
    expect(results).toEqual([11, 16, 4]);
    expect(told).toEqual([
      [1, 11],
      [2, 13],
      [3, 16],
    ]);
  });

  test("of methods that take their time are answered when those are done, and others before", async () => {
    const tally = start();
    const order: string[] = [];
    const later = tally.call("later", []).then((sum) => order.push(`later ${sum}`));
    await tally.call("add", [1]).then((sum) => order.push(`at once ${sum}`));
    await tally.call("goOn", []);
    await later;
    expect(order).toEqual(["at once 11", "later 11"]);
    expect(await failureOf(tally.call("refuseLater", []))).toMatchObject({ message: "no more", code: "full", offset: 7 });
  });

  test("hand memory over where they say so", async () => {
    const given = new Uint8Array(1_000);
    expect(await start().call("sizeOf", [given], [given.buffer])).toBe(1_000);
    expect(given.byteLength).toBe(0);
  });

  test("reject with what was thrown: with its message and fields, or as the error that is made of it", async () => {
    const plain = await failureOf(start().call("refuse", []));
    expect(plain).toBeInstanceOf(Error);
    expect(plain).toMatchObject({ message: "no more", code: "full", offset: 7 });
    await thread.terminate();
    const revive: ThreadOptions<TallySettings, TallyEvents>["revive"] = ({ name, message, fields }) =>
      new TallyError(`${name}: ${message}`, String(fields.code), Number(fields.offset));
    const revived = await failureOf(start({ revive }).call("refuse", []));
    expect(revived).toBeInstanceOf(TallyError);
    expect(revived).toMatchObject({ message: "TallyError: no more", code: "full", offset: 7 });
    expect(await thread.call("add", [1])).toBe(11);
  });

  test("with what cannot be copied reject, and the thread goes on", async () => {
    const tally = start();
    expect(await failureOf(tally.call("add", [(() => 1) as unknown as number]))).toMatchObject({ name: "DataCloneError" });
    expect(await tally.call("add", [1])).toBe(11);
  });

  test("make the thread's object again when it could not be made", async () => {
    const tally = start({ settings: { from: -5 } });
    expect(await failureOf(tally.call("add", [1]))).toMatchObject({ message: "not yet" });
    expect(await tally.call("add", [1])).toBe(-4);
  });

  test("make it anew, once, after an error that calls for it", async () => {
    const told: number[] = [];
    const tally = start({ settings: { from: 10 }, listeners: { added: (_, sum) => void told.push(sum) } });
    expect(await failureOf(tally.call("spoil", []))).toMatchObject({ message: "spoilt beyond repair" });
    expect(told).toEqual([Number.NaN, -1]);
    await thread.terminate();
    const fresh = start({ settings: { from: 0 } });
    await fresh.call("add", [5]);
    expect(await fresh.call("spoil", [])).toBe(2);
  });
});

describe("the end of a thread", () => {
  test("by itself rejects what it owes, says so once, and the next call starts another", async () => {
    const ends: string[] = [];
    const tally = start({ ended: (reason) => new TypeError(`gone: ${reason}`), onEnd: ({ message }) => ends.push(message) });
    const owed = [tally.call("die", []), tally.call("add", [1])].map(failureOf);
    for (const error of await Promise.all(owed)) expect(error).toBeInstanceOf(TypeError);
    expect(ends).toHaveLength(1);
    expect(await tally.call("add", [1])).toBe(11);
  });

  test("by an error that nobody catches is told with its message", async () => {
    const { promise, resolve } = Promise.withResolvers<Error>();
    const tally = start({ onEnd: resolve });
    await tally.call("throwLater", []);
    expect((await promise).message).toContain("out of nowhere");
    expect(await tally.call("add", [1])).toBe(11);
  });

  test("by close comes after what it was asked, its object being closed", async () => {
    const told: number[] = [];
    const tally = start({ listeners: { added: (_, sum) => void told.push(sum) } });
    const adding = tally.call("add", [1]);
    await tally.close();
    await tally.close();
    expect([await adding, told]).toEqual([11, [11, Number.NaN]]);
    expect(await tally.call("add", [2])).toBe(12);
  });

  test("by terminate comes whatever it does, and rejects what it owes", async () => {
    const tally = start();
    await tally.call("add", [1]);
    const hanging = failureOf(tally.call("hang", []));
    await tally.terminate();
    expect(await hanging).toMatchObject({ message: expect.stringContaining("terminated") });
    expect(await tally.call("add", [1])).toBe(11);
  });
});

test("a process stays for the answers of a thread that holds it, and for nothing else", async () => {
  const run = async (holdsProcess: boolean) => {
    const script = `
      import { Thread } from ${JSON.stringify(new URL("../../../src/server/thread/rpc.ts", import.meta.url).pathname)};
      const thread = new Thread({ entry: "../../test/server/thread/tally-worker.ts", settings: { from: 1 }, holdsProcess: ${holdsProcess} });
      thread.call("add", [1]).then((sum) => console.log("answered", sum));`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
    expect(await child.exited).toBe(0);
    return new Response(child.stdout).text();
  };
  expect(await run(true)).toBe("answered 2\n");
  expect(await run(false)).toBe("");
});
