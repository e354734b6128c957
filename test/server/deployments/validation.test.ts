import { expect, test } from "bun:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { GraphSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { refuseVastGraph } from "../../../src/server/deployments/validation.ts";

const some = (count: number) => Array.from({ length: count }, () => ({}));

test.each<[string, (count: number) => MessageInitShape<typeof GraphSchema>]>([
  ["feature classes", (count) => ({ featureSets: some(count) })],
  ["features", (count) => ({ featureSets: [{ features: some(count - 1) }] })],
  ["resolvers", (count) => ({ resolvers: some(count) })],
  ["named queries", (count) => ({ namedQueries: some(count) })],
  ["sources", (count) => ({ sources: some(count) })],
  ["findings", (count) => ({ diagnostics: some(count) })],
])("a graph of more than 50000 %s is refused before it is compared with anything", (_, graph) => {
  expect(() => refuseVastGraph(create(GraphSchema, graph(50_000)))).not.toThrow();
  expect(() => refuseVastGraph(create(GraphSchema, graph(50_001)))).toThrow("The project has 50001 definitions");
});
