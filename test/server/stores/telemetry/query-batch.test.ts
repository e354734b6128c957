import { expect, test } from "bun:test";
import { QueryGatherer, queriesOf } from "../../../../src/server/stores/telemetry/query-batch.ts";
import { query } from "./records.ts";

function bodyOf(gatherer: QueryGatherer, response: string): ReturnType<QueryGatherer["take"]> {
  gatherer.add(query("qry_1", 0, { request: "{}", response, origins: "" }));
  return gatherer.take();
}
const textOf = ({ bodies }: ReturnType<QueryGatherer["take"]>) => Buffer.from(bodies).toString();

test("memory of a batch is used again once it was given back, and never before", () => {
  const gatherer = new QueryGatherer();
  const first = bodyOf(gatherer, "é first");
  const second = bodyOf(gatherer, "second");
  const third = bodyOf(gatherer, "third");
  expect([first, second, third].map(textOf)).toEqual(["{}é first", "{}second", "{}third"]);
  gatherer.release(first);
  // What is gathered now has begun in memory of its own; the batch after it gets what was given back.
  const fourth = bodyOf(gatherer, "fourth");
  const fifth = bodyOf(gatherer, "fifth");
  expect(fourth.bodies.buffer).not.toBe(first.bodies.buffer);
  expect(fifth.bodies.buffer).toBe(first.bodies.buffer);
  expect([second, third, fourth, fifth].map(textOf)).toEqual(["{}second", "{}third", "{}fourth", "{}fifth"]);
});

test("a batch larger than what is kept is whole, and its memory is not kept", () => {
  const gatherer = new QueryGatherer();
  const long = "x".repeat(5_000_000);
  const batch = bodyOf(gatherer, long);
  expect(textOf(batch)).toBe(`{}${long}`);
  expect(queriesOf(batch)).toMatchObject([{ queryId: "qry_1", requestSize: 2, responseSize: long.length }]);
  gatherer.release(batch);
  bodyOf(gatherer, "short");
  expect(bodyOf(gatherer, "short").bodies.buffer.byteLength).toBeLessThan(long.length);
});
