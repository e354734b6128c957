import { expect, test } from "bun:test";
import { once } from "../../src/domain/once.ts";

test("a part is made when it is first wanted, once for all who ask", async () => {
  let made = 0;
  const part = once(async () => ++made);
  expect([await part.opened(), made]).toEqual([undefined, 0]);
  expect(await Promise.all([part(), part(), part.opened()])).toEqual([1, 1, 1]);
  expect([await part(), made]).toEqual([1, 1]);
});

test("a part that could not be made is tried again by whoever asks next", async () => {
  let tries = 0;
  const part = once(async () => {
    if (++tries === 1) throw new Error("not yet");
    return tries;
  });
  const first = [part(), part()].map((asked) => asked.catch(String));
  expect(await part.opened()).toBeUndefined();
  expect(await Promise.all(first)).toEqual(["Error: not yet", "Error: not yet"]);
  expect([await part(), await part.opened(), tries]).toEqual([2, 2, 2]);
});
