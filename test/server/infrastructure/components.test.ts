import { describe, expect, test } from "bun:test";
import { type Components, createComponents } from "../../../src/server/infrastructure/components.ts";
import { eventually } from "../../harness/eventually.ts";
import { nodesOfEachTest } from "../documents/parts.ts";

const nodes = nodesOfEachTest();

/** The components as one more node has them. */
const open = async (): Promise<Components> => nodes.closing(await createComponents(nodes.parts()));

describe("components", () => {
  test("a suspension acts on its node when it is done, on others soon, and on those that start later", async () => {
    const [one, other] = [await open(), await open()];
    const seen: boolean[] = [];
    other.watch("telemetry", ({ suspended }) => seen.push(suspended));
    await one.change("telemetry", (before) => ({ ...before, suspended: true }));
    expect(one.isSuspended("telemetry")).toBe(true);
    await eventually(() => other.isSuspended("telemetry"), "the other node knows");
    expect((await open()).isSuspended("telemetry")).toBe(true);
    await other.change("telemetry", (before) => ({ ...before, suspended: false }));
    await eventually(() => !one.isSuspended("telemetry"), "the first node knows");
    expect(seen).toEqual([false, true, false]);
    expect(one.isSuspended("gateway")).toBe(false);
  });

  test("a change for an etag that is old is refused, of a record and of none", async () => {
    const components = await open();
    const { etag } = await components.read("gateway");
    const set = (value: string, given?: string) =>
      components.change("gateway", (before) => ({ ...before, spec: { namespace: value } }), given);
    await set("one", etag);
    await expect(set("two", etag)).rejects.toMatchObject({ kind: "aborted" });
    await expect(components.change("metrics", (before) => before, '"7"')).rejects.toMatchObject({ kind: "aborted" });
    expect((await components.read("gateway")).spec).toEqual({ namespace: "one" });
  });

  test("changes of many at once all come about", async () => {
    const nodes = [await open(), await open()];
    const add = (n: number) =>
      (nodes[n % 2] as Components).change("kafka-topics", ({ spec, suspended }) => ({ spec: { ...spec, [`t${n}`]: n }, suspended }));
    await Promise.all(Array.from({ length: 10 }, (_, n) => add(n)));
    expect(Object.keys((await (nodes[0] as Components).read("kafka-topics")).spec).length).toBe(10);
  });

  test("records that cannot be read fail the start", async () => {
    const parts = nodes.parts();
    const made = createComponents({ ...parts, documents: { ...parts.documents, list: async () => Promise.reject(new Error("damaged")) } });
    await expect(made).rejects.toThrow("damaged");
  });
});
