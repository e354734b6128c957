/** Reading the analyzer's output in pieces. */

import { expect, test } from "bun:test";
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { type Graph, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { GraphReader } from "../../src/python/read-graph.ts";
import { seeded } from "../harness/seed.ts";

const DOCUMENT: JsonObject = {
  featureSets: [
    { namespace: "user", className: "Üser", features: [{ fqn: "user.id", name: "id", description: "a\nb, é 😀" }] },
    { namespace: "wide", description: "x".repeat(300) },
  ],
  resolvers: [{ fqn: "mod.f", kind: "RESOLVER_KIND_ONLINE", outputs: ["user.name"], python: { module: "mod", name: "f" } }],
  namedQueries: [{ name: "q", outputs: ["user.id"] }],
  sources: [],
  diagnostics: [],
  sdkVersion: "1",
  pythonVersion: "3.12.1",
};

/** The document as the analyzer writes it. */
const BYTES = Buffer.from(
  `{\n${Object.entries(DOCUMENT)
    .map(([name, value]) => {
      const items = Array.isArray(value) && value.length > 0 ? value : undefined;
      return `"${name}":${items ? `[\n${items.map((item) => JSON.stringify(item)).join(",\n")}\n]` : JSON.stringify(value)}`;
    })
    .join(",\n")}\n}\n`,
);

function read(...pieces: readonly Uint8Array[]): Graph | undefined {
  const reader = new GraphReader();
  for (const piece of pieces) {
    const reused = new Uint8Array(piece);
    reader.add(reused);
    reused.fill(0);
  }
  return reader.graph();
}

test("the graph is the same whatever the pieces", () => {
  const whole = toJson(GraphSchema, fromJson(GraphSchema, DOCUMENT));
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(BYTES.length), { maxLength: 20 }), (cuts) => {
      const ends = [0, ...cuts.sort((a, b) => a - b), BYTES.length];
      const graph = read(...ends.slice(1).map((end, index) => BYTES.subarray(ends[index], end)));
      expect(graph && toJson(GraphSchema, graph)).toEqual(whole);
    }),
    seeded(100),
  );
});

test("a document that was cut off is none", () => {
  for (let end = 0; end < BYTES.length - 1; end++) expect(read(BYTES.subarray(0, end))).toBeUndefined();
});

test("what is no JSON of a graph is refused, and nothing after it read", () => {
  expect(() => read(Buffer.from("{\nnothing\n}\n"), BYTES)).toThrow(SyntaxError);
  expect(() => read(Buffer.from('{\n"resolvers":[\n{"fqn":1}\n]\n}\n'))).toThrow("svc.v1.Resolver");
});
