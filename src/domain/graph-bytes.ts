/**
 * Graphs as bytes, definition by definition. Definitions are here the feature classes and resolvers
 * of a graph: they are nearly all of it, and nearly all of them are the same in the next graph of
 * the project.
 */

import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type FeatureSet, FeatureSetSchema, type Graph, GraphSchema, type Resolver, ResolverSchema } from "../../gen/svc/v1/graph_pb.ts";

const { number: FEATURE_SETS } = GraphSchema.field.featureSets;
const { number: RESOLVERS } = GraphSchema.field.resolvers;

/**
 * An encoder of one graph, whose definitions can be encoded while others are still to come. What
 * was encoded must not change any more.
 */
export class GraphEncoder {
  readonly #encoded = new Map<FeatureSet | Resolver, Uint8Array>();

  /** Encodes a feature class ahead. */
  addFeatureSet(set: FeatureSet): void {
    this.#encoded.set(set, toBinary(FeatureSetSchema, set));
  }

  /** Encodes a resolver ahead. */
  addResolver(resolver: Resolver): void {
    this.#encoded.set(resolver, toBinary(ResolverSchema, resolver));
  }

  /** The bytes of the graph, those of `toBinary`. Forgets what was encoded ahead. */
  encode(graph: Graph): Uint8Array {
    const writer = new BinaryWriter();
    for (const set of graph.featureSets)
      writer.tag(FEATURE_SETS, WireType.LengthDelimited).bytes(this.#encoded.get(set) ?? toBinary(FeatureSetSchema, set));
    for (const resolver of graph.resolvers)
      writer.tag(RESOLVERS, WireType.LengthDelimited).bytes(this.#encoded.get(resolver) ?? toBinary(ResolverSchema, resolver));
    this.#encoded.clear();
    return writer.raw(toBinary(GraphSchema, { ...graph, featureSets: [], resolvers: [] })).finish();
  }
}

/** Decodes the bytes of a graph. Throws when they are none. */
export type GraphDecoder = (bytes: Uint8Array) => Graph;

/**
 * A decoder of graphs that have most definitions in common. A definition that is in memory already,
 * as part of a graph that somebody uses, is found by the digest of its bytes and shared: graphs of
 * which only a few definitions differ take hardly more memory and time than one. So nobody may
 * change a definition, nor what it holds; lists of definitions are each graph's own. Members that
 * this version does not know are dropped.
 */
export class SharedDefinitions {
  readonly #featureSets = new Shared(FeatureSetSchema);
  readonly #resolvers = new Shared(ResolverSchema);

  /** Decodes a graph; the bytes must be of one. */
  readonly decode: GraphDecoder = (bytes) => {
    const featureSets: FeatureSet[] = [];
    const resolvers: Resolver[] = [];
    const rest = new BinaryWriter();
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const from = reader.pos;
      const [field, wire] = reader.tag();
      if (field === FEATURE_SETS && wire === WireType.LengthDelimited) featureSets.push(this.#featureSets.decode(reader.bytes()));
      else if (field === RESOLVERS && wire === WireType.LengthDelimited) resolvers.push(this.#resolvers.decode(reader.bytes()));
      else {
        reader.skip(wire, field);
        rest.raw(bytes.subarray(from, reader.pos));
      }
    }
    this.#featureSets.sweep();
    this.#resolvers.sweep();
    return { ...fromBinary(GraphSchema, rest.finish(), WITHOUT_UNKNOWN), featureSets, resolvers };
  };
}

const WITHOUT_UNKNOWN = { readUnknownFields: false };
/** Number of messages from which those that nobody uses any more are looked for. */
const FEW = 1_000;

/** The messages of a type that are in memory, by the digest of their bytes. */
class Shared<D extends DescMessage> {
  readonly #known = new Map<string, WeakRef<MessageShape<D>>>();
  #sweptAt = FEW;

  constructor(readonly schema: D) {}

  decode(bytes: Uint8Array): MessageShape<D> {
    const digest = Bun.SHA256.hash(bytes, "base64");
    const known = this.#known.get(digest)?.deref();
    if (known) return known;
    const message = fromBinary(this.schema, bytes, WITHOUT_UNKNOWN);
    this.#known.set(digest, new WeakRef(message));
    return message;
  }

  /** Forgets the digests of messages that are gone, each time that there are twice as many. */
  sweep(): void {
    if (this.#known.size < this.#sweptAt) return;
    for (const [digest, message] of this.#known) if (message.deref() === undefined) this.#known.delete(digest);
    this.#sweptAt = Math.max(FEW, this.#known.size * 2);
  }
}
