import { expect, test } from "bun:test";
import { deferred } from "../../src/domain/deferred.ts";

test("a stand-in makes the thing when a member is first called, and hands on arguments, answers and failures", async () => {
  let made = 0;
  const thing = {
    add: async (a: number, b: number) => a + b,
    async fail(): Promise<never> {
      throw new Error("no");
    },
  };
  const standIn = deferred<typeof thing>(async () => {
    made++;
    return thing;
  });
  const { add } = standIn;
  expect(made).toBe(0);
  expect(await add(1, 2)).toBe(3);
  await expect(standIn.fail()).rejects.toThrow("no");
  expect(made).toBe(1);
});

test("a stand-in is no promise, and can be awaited and overlaid", async () => {
  const standIn = deferred<{ get(): Promise<string> }>(async () => ({ get: async () => "real" }));
  expect(await (async () => standIn)()).toBe(standIn);
  const overlaid = Object.create(standIn, { other: { value: 1 } }) as typeof standIn;
  expect(await overlaid.get()).toBe("real");
});
