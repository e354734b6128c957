import { describe, expect, test } from "bun:test";
import { type Collection, createCollection, etagOf } from "../../../src/server/documents/collection.ts";
import { eventually } from "../../harness/eventually.ts";
import { nodesOfEachTest } from "./parts.ts";

interface Content {
  readonly n: number;
}

const nodes = nodesOfEachTest();

/** A collection as one more node has it. */
const open = (): Collection<Content> =>
  nodes.closing(
    createCollection<Content>(nodes.parts(), {
      kind: "thing",
      noun: "thing",
      idPrefix: "whk",
      listedBy: "svc thing list",
      maxPerScope: 3,
      maxBytes: 100,
    }),
  );

describe("a collection", () => {
  test("refuses names that cannot be, contents that are too large, and more than fit", async () => {
    const things = open();
    for (const name of ["", " a", "a\n", "x".repeat(201)])
      await expect(things.create("s", name, { n: 1 })).rejects.toMatchObject({ kind: "invalid_argument" });
    await expect(things.create("s", "a", { n: 1, text: "x".repeat(100) } as Content)).rejects.toThrow(
      "The thing takes 117 bytes, and a thing has at most 100.",
    );
    await things.create("s", "a", { n: 1 });
    await expect(things.create("s", "a", { n: 2 })).rejects.toMatchObject({ kind: "already_exists" });
    await things.create("s", "b", { n: 1 });
    await things.create("s", "c", { n: 1 });
    await expect(things.create("s", "d", { n: 1 })).rejects.toMatchObject({ kind: "resource_exhausted" });
    expect((await things.list("s")).map(({ name, content }) => [name, content.n])).toEqual([
      ["a", 1],
      ["b", 1],
      ["c", 1],
    ]);
  });

  test("says which name is close when there is none", async () => {
    const things = open();
    await things.create("s", "payments", { n: 1 });
    const refused = await things.get("s", "payment").catch((error: unknown) => error);
    expect(refused).toMatchObject({
      kind: "not_found",
      message: "There is no thing 'payment'.",
      detail: { hint: "did you mean 'payments'?" },
    });
  });

  test("changes of many at once are all made, each on top of the one before", async () => {
    const things = open();
    await things.create("s", "a", { n: 0 });
    await Promise.all(Array.from({ length: 10 }, () => things.update("s", "a", ({ content: { n } }) => ({ content: { n: n + 1 } }))));
    await Promise.all(Array.from({ length: 5 }, () => things.put("s", "a", (before) => ({ n: (before?.n ?? 0) + 1 }))));
    await Promise.all(Array.from({ length: 5 }, () => things.put("s", "new", (before) => ({ n: (before?.n ?? 0) + 1 }))));
    expect([(await things.get("s", "a")).content.n, (await things.get("s", "new")).content.n]).toEqual([15, 5]);
  });

  test("of two changes with one etag one is made, and the other is told", async () => {
    const things = open();
    const etag = etagOf(await things.create("s", "a", { n: 0 }));
    const change = (n: number) => things.update("s", "a", () => ({ content: { n } }), etag);
    const outcomes = await Promise.allSettled([change(1), change(2)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await expect(change(3)).rejects.toMatchObject({ kind: "aborted" });
    expect([1, 2]).toContain((await things.get("s", "a")).content.n);
  });

  test("what one node remembers follows what another changes", async () => {
    const [one, other] = [open(), open()];
    const seen = async () => (await one.remembered("s")).map(({ name, content }) => `${name}${content.n}`);
    expect(await seen()).toEqual([]);
    await eventually(async () => (await one.remembered("s")) && Array.isArray(one.remembered("s")), "the scope is remembered");
    await other.create("s", "a", { n: 1 });
    await eventually(async () => Bun.deepEquals(await seen(), ["a1"]), "the change is seen");
    await other.update("s", "a", () => ({ name: "b" }));
    await eventually(async () => Bun.deepEquals(await seen(), ["b1"]), "the change is seen");
    await other.delete("s", "b");
    await eventually(async () => Bun.deepEquals(await seen(), []), "the change is seen");
  });
});
