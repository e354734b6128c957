/**
 * Reading the analyzer's output: the JSON of a graph, which for a large project is never parsed as
 * a whole.
 */

import { create, type DescMessage, fromJson, type JsonObject, type JsonValue, type MessageShape, mergeFromJson } from "@bufbuild/protobuf";
import { FeatureSetSchema, type Graph, GraphSchema, ResolverSchema } from "../../gen/svc/v1/graph_pb.ts";

const NEWLINE = 0x0a;

/**
 * The graph of a document that has one line per member, and one per item of members that are lists.
 * Throws SyntaxError for malformed JSON, and the errors of `fromJson`.
 */
export function readGraph(document: Uint8Array): Graph {
  const graph = create(GraphSchema);
  const featureSets = itemsInto(FeatureSetSchema, graph.featureSets);
  const resolvers = itemsInto(ResolverSchema, graph.resolvers);
  const rest: Record<string, JsonValue> = {};
  let take: ((item: JsonValue) => void) | undefined;
  for (const line of linesOf(document)) {
    const list = /^"(\w+)":\[$/.exec(line)?.[1];
    if (line === "{" || line === "}") continue;
    if (line === "]") take = undefined;
    else if (list === "featureSets") take = featureSets;
    else if (list === "resolvers") take = resolvers;
    else if (list !== undefined) {
      const items: JsonValue[] = [];
      rest[list] = items;
      take = (item) => items.push(item);
    } else if (take) take(JSON.parse(line) as JsonValue);
    else Object.assign(rest, JSON.parse(`{${line}}`) as JsonObject);
  }
  return mergeFromJson(GraphSchema, graph, rest);
}

function itemsInto<S extends DescMessage>(schema: S, items: MessageShape<S>[]): (item: JsonValue) => void {
  return (item) => items.push(fromJson(schema, item));
}

/** The lines of a text without the comma at their ends. */
function* linesOf(document: Uint8Array): Generator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (let start = 0; start < document.length; ) {
    const found = document.indexOf(NEWLINE, start);
    const end = found < 0 ? document.length : found;
    const line = decoder.decode(document.subarray(start, end));
    if (line !== "") yield line.endsWith(",") ? line.slice(0, -1) : line;
    start = end + 1;
  }
}
