/**
 * Reading the analyzer's output: the JSON of a graph, piece by piece while the analyzer still
 * writes it, so that a large project is never parsed as a whole. Each piece is encoded at once, in
 * the time that would be spent on waiting for the next one.
 */

import { create, type DescMessage, fromJson, type JsonObject, type JsonValue, type MessageShape, mergeFromJson } from "@bufbuild/protobuf";
import { FeatureSetSchema, type Graph, GraphSchema, ResolverSchema } from "../../gen/svc/v1/graph_pb.ts";
import { dropTranslations, GraphEncoder } from "../domain/graph-bytes.ts";

const NEWLINE = 0x0a;

/**
 * A reader of a document that has one line per member, and one per item of members that are lists.
 */
export class GraphReader {
  /** What encodes the graph. */
  readonly encoder = new GraphEncoder();
  readonly #graph = create(GraphSchema);
  readonly #rest: Record<string, JsonValue> = {};
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #featureSets = itemsInto(FeatureSetSchema, this.#graph.featureSets);
  readonly #resolvers = itemsInto(ResolverSchema, this.#graph.resolvers);
  #take: ((item: JsonValue) => void) | undefined;
  /** Bytes of a line whose end has not come yet. */
  #begun: Uint8Array[] = [];
  #isWhole = false;
  #failure: unknown;

  /** @param withoutTranslations whether the graph lacks those of resolvers, which are encoded */
  constructor(readonly withoutTranslations = false) {}

  /** Reads the next bytes of the document. What is wrong with them is thrown by `graph`. */
  add(bytes: Uint8Array): void {
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      const lines = Buffer.concat([...this.#begun, bytes.subarray(0, end)]);
      this.#begun = [];
      try {
        if (this.#failure === undefined) this.#read(this.#decoder.decode(lines));
      } catch (error) {
        this.#failure = error;
      }
    }
    if (end < bytes.length) this.#begun.push(bytes.slice(end));
  }

  /**
   * The graph; undefined when the document did not come to its end. Throws SyntaxError for
   * malformed JSON, and the errors of `fromJson`.
   */
  graph(): Graph | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#isWhole ? mergeFromJson(GraphSchema, this.#graph, this.#rest) : undefined;
  }

  #read(text: string): void {
    const { featureSets, resolvers } = this.#graph;
    const [sets, others] = [featureSets.length, resolvers.length];
    for (const line of text.split("\n")) if (line !== "") this.#readLine(line.endsWith(",") ? line.slice(0, -1) : line);
    const read = { featureSets: featureSets.slice(sets), resolvers: resolvers.slice(others) };
    this.encoder.add(read);
    if (this.withoutTranslations) dropTranslations(read.resolvers);
  }

  #readLine(line: string): void {
    const list = /^"(\w+)":\[$/.exec(line)?.[1];
    if (line === "{") return;
    if (line === "}") this.#isWhole = true;
    else if (line === "]") this.#take = undefined;
    else if (list === "featureSets") this.#take = this.#featureSets;
    else if (list === "resolvers") this.#take = this.#resolvers;
    else if (list !== undefined) {
      const items: JsonValue[] = [];
      this.#rest[list] = items;
      this.#take = (item) => items.push(item);
    } else if (this.#take) this.#take(JSON.parse(line) as JsonValue);
    else Object.assign(this.#rest, JSON.parse(`{${line}}`) as JsonObject);
  }
}

function itemsInto<S extends DescMessage>(schema: S, items: MessageShape<S>[]): (item: JsonValue) => void {
  return (item) => items.push(fromJson(schema, item));
}
