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

test("a part that is closed goes to its end, and is not made from then on", async () => {
  const ended: string[] = [];
  const unmade = once(async () => "unmade");
  await unmade.close((part) => ended.push(part));
  expect(await unmade().catch(String)).toBe("Error: it is closed, and was not in use before");

  const { promise, resolve } = Promise.withResolvers<string>();
  const making = once(() => promise);
  const asked = making();
  const closing = making.close((part) => ended.push(part));
  resolve("being made");
  await closing;
  expect([ended, await asked, await making()]).toEqual([["being made"], "being made", "being made"]);

  const failing = once(() => Promise.reject(new Error("not yet")));
  const refused = failing().catch(String);
  await failing.close((part) => ended.push(part));
  expect([await refused, await failing().catch(String), ended.length]).toEqual([
    "Error: not yet",
    "Error: it is closed, and was not in use before",
    1,
  ]);
});
