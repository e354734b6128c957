/** Work after answers. */

import { expect, test } from "bun:test";
import { AfterAnswers } from "../../src/server/after-answers.ts";

test("is done in order when the turn's promises have settled, whatever some of it throws", async () => {
  const done: string[] = [];
  const lost: unknown[] = [];
  const after = new AfterAnswers((error) => lost.push(error));
  after.later(() => done.push("first"));
  after.later(() => {
    throw new Error("fails");
  });
  after.later(() => {
    done.push("last");
    after.later(() => done.push("next turn"));
  });
  await Promise.resolve().then(() => Promise.resolve());
  expect(done).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(done.slice(0, 2)).toEqual(["first", "last"]);
  expect(lost).toEqual([new Error("fails")]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual(["first", "last", "next turn"]);
});

test("is done before what a client sends after its answer is read", async () => {
  const after = new AfterAnswers((error) => {
    throw error;
  });
  let [answered, recorded] = [0, 0];
  const seen: number[] = [];
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async () => {
      seen.push(answered - recorded);
      answered++;
      await Promise.resolve();
      after.later(() => recorded++);
      return new Response("ok");
    },
  });
  for (let request = 0; request < 100; request++) await (await fetch(server.url)).text();
  expect(seen).toEqual(Array(100).fill(0));
});
