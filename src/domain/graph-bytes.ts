/**
 * Graphs as bytes, definition by definition. Definitions are here the feature classes and resolvers
 * of a graph: they are nearly all of it, and nearly all of them are the same in the next graph of
 * the project.
 */

import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type FeatureSet, FeatureSetSchema, type Graph, GraphSchema, type Resolver, ResolverSchema } from "../../gen/svc/v1/graph_pb.ts";

const { number: FEATURE_SETS } = GraphSchema.field.featureSets;
const { number: RESOLVERS } = GraphSchema.field.resolvers;

/** Definitions of a graph, or all of them. */
export type Definitions = Pick<Graph, "featureSets" | "resolvers">;

/**
 * An encoder of one graph, which encodes definitions while others are still to come: as they were
 * when they were given.
 */
export class GraphEncoder {
  readonly #definitions: (FeatureSet | Resolver)[] = [];
  /** The same, encoded: the fields of a graph, for each call of `add`. */
  readonly #batches: Uint8Array[] = [];

  /** Encodes definitions ahead. */
  add(definitions: Definitions): void {
    this.#batches.push(bytesOf(definitions));
    this.#definitions.push(...definitions.featureSets, ...definitions.resolvers);
  }

  /** The bytes of the graph, those of `toBinary`. Forgets what was encoded ahead. */
  encode(graph: Graph): Uint8Array {
    const pieces = this.#batches.flatMap((batch) => [...fieldsOf(batch)].map(({ from, to }) => batch.subarray(from, to)));
    const ahead = new Map(this.#definitions.map((definition, index) => [definition, pieces[index]]));
    this.#definitions.length = this.#batches.length = 0;
    const { featureSets, resolvers, ...rest } = graph;
    return Buffer.concat([
      ...featureSets.map((set) => ahead.get(set) ?? bytesOf({ featureSets: [set], resolvers: [] })),
      ...resolvers.map((resolver) => ahead.get(resolver) ?? bytesOf({ featureSets: [], resolvers: [resolver] })),
      toBinary(GraphSchema, { ...rest, featureSets: [], resolvers: [] }),
    ]);
  }
}

/**
 * Takes out of resolvers what they were translated to: half of the memory of a graph, and read by
 * the engine alone.
 */
export function dropTranslations(resolvers: readonly Resolver[]): void {
  for (const resolver of resolvers) resolver.translated = {};
}

function bytesOf(definitions: Definitions): Uint8Array {
  return toBinary(GraphSchema, create(GraphSchema, definitions));
}

/** A field of an encoded message: where it begins with its tag, and where it ends. */
interface EncodedField {
  readonly number: number;
  readonly from: number;
  readonly to: number;
  /** The bytes of a message or a text; undefined for a number. */
  readonly content: Uint8Array | undefined;
}

function* fieldsOf(bytes: Uint8Array): Iterable<EncodedField> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const from = reader.pos;
    const [number, wire] = reader.tag();
    const content = wire === WireType.LengthDelimited ? reader.bytes() : undefined;
    if (content === undefined) reader.skip(wire, number);
    yield { number, from, to: reader.pos, content };
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
    const rest: Uint8Array[] = [];
    for (const { number, from, to, content } of fieldsOf(bytes)) {
      if (number === FEATURE_SETS && content) featureSets.push(this.#featureSets.decode(content));
      else if (number === RESOLVERS && content) resolvers.push(this.#resolvers.decode(content));
      else rest.push(bytes.subarray(from, to));
    }
    this.#featureSets.sweep();
    this.#resolvers.sweep();
    return { ...fromBinary(GraphSchema, Buffer.concat(rest), WITHOUT_UNKNOWN), featureSets, resolvers };
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
