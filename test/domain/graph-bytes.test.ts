import { describe, expect, test } from "bun:test";
import { clone, create, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { FeatureSetSchema, GraphSchema, ResolverSchema } from "../../gen/svc/v1/graph_pb.ts";
import { GraphEncoder, SharedDefinitions } from "../../src/domain/graph-bytes.ts";
import { eventually } from "../harness/eventually.ts";
import { seeded } from "../harness/seed.ts";

const text = fc.oneof(fc.string({ maxLength: 6 }), fc.constant("ü😀"), fc.string({ minLength: 130, maxLength: 140 }));
const featureSet = fc
  .record({ namespace: text, tags: fc.array(text, { maxLength: 2 }), features: fc.array(fc.record({ fqn: text }), { maxLength: 3 }) })
  .map((init) => create(FeatureSetSchema, init));
const resolver = fc
  .record({ fqn: text, outputs: fc.array(text, { maxLength: 3 }), total: fc.boolean() })
  .map((init) => create(ResolverSchema, init));
const graphs = fc
  .record({
    featureSets: fc.array(featureSet, { maxLength: 5 }),
    resolvers: fc.array(resolver, { maxLength: 5 }),
    namedQueries: fc.array(fc.record({ name: text }), { maxLength: 2 }),
    diagnostics: fc.array(fc.record({ message: text, code: fc.nat(200) }), { maxLength: 2 }),
    sdkVersion: text,
  })
  .map((init) => create(GraphSchema, init));

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("an encoder", () => {
  test("gives the bytes of the whole, whatever it was given ahead, and in whichever order definitions come to lie", () => {
    fc.assert(
      fc.property(graphs, fc.array(fc.nat(5), { maxLength: 3 }), fc.func(fc.integer()), (graph, cuts, place) => {
        const encoder = new GraphEncoder();
        for (const [index, cut] of cuts.sort().entries()) {
          const next = cuts[index + 1] ?? cut;
          encoder.add({ featureSets: graph.featureSets.slice(cut, next), resolvers: graph.resolvers.slice(cut, next) });
        }
        const settled = create(GraphSchema, { ...graph, resolvers: [...graph.resolvers].sort((a, b) => place(a.fqn) - place(b.fqn)) });
        expect(hexOf(encoder.encode(settled))).toBe(hexOf(toBinary(GraphSchema, settled)));
      }),
      seeded(300),
    );
  });
});

describe("shared definitions", () => {
  test("give the graph of the bytes, whatever was decoded before", () => {
    const shared = new SharedDefinitions();
    fc.assert(
      fc.property(graphs, (graph) => {
        const bytes = toBinary(GraphSchema, graph);
        const [first, again] = [shared.decode(bytes), shared.decode(bytes)];
        expect(equals(GraphSchema, first, fromBinary(GraphSchema, bytes))).toBe(true);
        expect(hexOf(toBinary(GraphSchema, again))).toBe(hexOf(bytes));
        expect(again.resolvers.every((one, index) => one === first.resolvers[index])).toBe(true);
        expect(again.resolvers).not.toBe(first.resolvers);
      }),
      seeded(300),
    );
  });

  const graph = create(GraphSchema, {
    featureSets: [{ namespace: "user" }, { namespace: "item" }],
    resolvers: [{ fqn: "a.f" }, { fqn: "a.g" }],
    sdkVersion: "1",
  });

  test("are the same messages in two graphs, and what differs is not", () => {
    const changed = clone(GraphSchema, graph);
    const [, item] = changed.featureSets;
    if (item) item.owner = "somebody";
    const shared = new SharedDefinitions();
    const [before, after] = [shared.decode(toBinary(GraphSchema, graph)), shared.decode(toBinary(GraphSchema, changed))];
    expect(after.featureSets.map((set, index) => set === before.featureSets[index])).toEqual([true, false]);
    expect(after.featureSets[1]?.owner).toBe("somebody");
    expect(before.featureSets[1]?.owner).toBe("");
    expect(after.resolvers.map((one, index) => one === before.resolvers[index])).toEqual([true, true]);
  });

  test("of different kinds are never one, though their bytes are", () => {
    const { featureSets, resolvers } = new SharedDefinitions().decode(
      toBinary(GraphSchema, create(GraphSchema, { featureSets: [{ namespace: "a" }], resolvers: [{ fqn: "a" }] })),
    );
    expect([featureSets[0]?.$typeName, resolvers[0]?.$typeName]).toEqual(["svc.v1.FeatureSet", "svc.v1.Resolver"]);
  });

  test("are found in bytes of any order, and members that are not known are dropped", () => {
    const [sets, resolvers] = [{ ...graph, resolvers: [] }, create(GraphSchema, { resolvers: graph.resolvers })];
    const unknown = new BinaryWriter().tag(500, WireType.LengthDelimited).string("new").tag(501, WireType.Varint).uint32(7).finish();
    const bytes = Buffer.concat([toBinary(GraphSchema, resolvers), unknown, toBinary(GraphSchema, sets)]);
    expect(new SharedDefinitions().decode(bytes)).toEqual(fromBinary(GraphSchema, toBinary(GraphSchema, graph)));
  });

  test("are refused when they were cut off", () => {
    const bytes = toBinary(GraphSchema, create(GraphSchema, { featureSets: [{ namespace: "user" }] }));
    for (let end = 1; end < bytes.length; end++) expect(() => new SharedDefinitions().decode(bytes.subarray(0, end))).toThrow();
  });

  test("are let go with the last graph that has them", async () => {
    const shared = new SharedDefinitions();
    const refs = shared.decode(toBinary(GraphSchema, graph)).featureSets.map((set) => new WeakRef(set));
    await eventually(() => {
      Bun.gc(true);
      return refs.every((ref) => ref.deref() === undefined);
    }, "nothing of the graph is in memory");
    expect(shared.decode(toBinary(GraphSchema, graph)).featureSets).toHaveLength(2);
  });
});
