import { expect, test } from "bun:test";
import { readBody } from "../../../../src/server/wire/http/body.ts";
import { createBodyBudget } from "../../../../src/server/wire/http/body-budget.ts";

const MIB = 1024 * 1024;

test("shares take room up to the budget, long ones leave a quarter, and all give it back", async () => {
  const budget = createBodyBudget(16 * MIB, 1);
  const [long, another, short] = [budget.share(), budget.share(), budget.share()];
  expect(long.take(12 * MIB)).toBe(true);
  expect(await another.take(2 * MIB)).toBe(false);
  expect(another.take(13 * MIB)).toBe(false);
  for (let i = 0; i < 4; i++) expect(short.take(MIB)).toBe(true);
  expect(await short.take(1)).toBe(false);
  expect(budget.held).toBe(16 * MIB);
  for (const share of [long, long, another, short]) share.release();
  expect(budget.held).toBe(0);
});

test("bodies wait for room in their order, sixteen at most, and short ones pass by", async () => {
  const budget = createBodyBudget(16 * MIB, 60_000);
  const holder = budget.share();
  expect(holder.take(10 * MIB)).toBe(true);
  const granted: number[] = [];
  const waiting = Array.from({ length: 16 }, (_, i) => {
    const share = budget.share();
    const bytes = i === 0 ? 12 * MIB : 2 * MIB;
    return { share, taken: Promise.resolve(share.take(bytes)).then((taken) => granted.push(taken ? i : -1)) };
  });
  const late = budget.share();
  expect(late.take(2 * MIB)).toBe(false);
  expect(late.take(MIB)).toBe(true);
  expect(budget.held).toBe(11 * MIB);
  holder.release();
  await Bun.sleep(0);
  expect([granted, budget.held]).toEqual([[], MIB]);
  late.release();
  await waiting[0]?.taken;
  expect([granted, budget.held]).toEqual([[0], 12 * MIB]);
  for (const { share, taken } of waiting) {
    await taken;
    expect(budget.held).toBeLessThanOrEqual(12 * MIB);
    share.release();
  }
  expect([granted, budget.held]).toEqual([Array.from({ length: 16 }, (_, i) => i), 0]);
});

test("a body without room is refused with 503 and not read; one that does not say its length needs room for the longest", async () => {
  const budget = createBodyBudget(16 * MIB, 1);
  const read = async (length: number, maxBytes: number, announced: boolean) => {
    const share = budget.share();
    const headers: Record<string, string> = announced ? { "content-length": String(length) } : {};
    const request = new Request("http://localhost/", { method: "POST", body: new Response(new Uint8Array(length)).body, headers });
    const outcome = await readBody(request, maxBytes, { share }).then(
      (body) => body.length,
      (error: { status: number }) => `${error.status}${request.bodyUsed ? " read" : ""}`,
    );
    const { held } = budget;
    share.release();
    return [outcome, held];
  };
  expect(await read(60_000, MIB, true)).toEqual([60_000, 60_000]);
  expect(await read(3 * MIB, 20 * MIB, true)).toEqual([3 * MIB, 3 * MIB]);
  expect(await read(13 * MIB, 20 * MIB, true)).toEqual(["503", 0]);
  expect(await read(60_000, MIB, false)).toEqual([60_000, 4 * MIB]);
  expect(await read(60_000, 10 * MIB, false)).toEqual([60_000, 10 * MIB]);
  expect(await read(60_000, 20 * MIB, false)).toEqual(["503", 0]);
  expect(await read(11 * MIB, 10 * MIB, false)).toEqual(["413 read", 10 * MIB]);
  expect(budget.held).toBe(0);
});

test("a body of some kilobytes at most takes no room, however long it takes to come", async () => {
  const budget = createBodyBudget(16 * MIB, 1);
  for (let i = 0; i < 16; i++) budget.share().take(MIB);
  const read = async (headers: Record<string, string>, maxBytes: number) => {
    const request = new Request("http://localhost/", { method: "POST", body: new Response("short").body, headers });
    return readBody(request, maxBytes, { share: budget.share() }).then(
      (body) => body.length,
      (error: { status: number }) => error.status,
    );
  };
  expect(await Promise.all([read({}, 4096), read({ "content-length": "5" }, 4096), read({}, MIB)])).toEqual([5, 5, 503]);
  expect(budget.held).toBe(16 * MIB);
});
