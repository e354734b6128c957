/** Graphs for tests, in few words. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type FeatureSchema,
  type Graph,
  GraphSchema,
  type NamedQuerySchema,
  ResolverKind,
  type ResolverSchema,
  type SourceKind,
  type StreamResolverSchema,
} from "../../gen/svc/v1/graph_pb.ts";

/**
 * Features by class name. A feature is its name; `name->Class` is a has-one over `<name>_id`;
 * `name=` has a default; `name*` is the primary key.
 */
export type Classes = Readonly<Record<string, string>>;

let line = 0;
const span = (file: string) => {
  line++;
  return { file, line, column: 1, endLine: line, endColumn: 5 };
};

function feature(namespace: string, word: string): MessageInitShape<typeof FeatureSchema> {
  const [, name = "", mark = "", target = ""] = /^(\w+)(->|=|\*|@)?(\w*)$/.exec(word) ?? [];
  const base = { fqn: `${namespace}.${name}`, name, namespace, span: span("features.py") };
  if (mark === "->") {
    const foreignNamespace = target.toLowerCase();
    const join = [{ local: `${namespace}.${name}_id`, foreign: `${foreignNamespace}.id` }];
    return { ...base, kind: { case: "hasOne", value: { foreignNamespace, join } } };
  }
  const defaultValue = mark === "=" ? { kind: { case: "int64Value" as const, value: 1n } } : undefined;
  return { ...base, kind: { case: "scalar", value: { primary: mark === "*" || name === "id", featureTime: mark === "@", defaultValue } } };
}

/** A resolver: `module.name: user.a, user.b? -> user.c`, a `?` marking an optional input. */
export function resolver(text: string, more: MessageInitShape<typeof ResolverSchema> = {}): MessageInitShape<typeof ResolverSchema> {
  const [head = "", right = ""] = text.split("->");
  const [fqn = "", left = ""] = head.split(":");
  const words = (list: string) =>
    list
      .split(",")
      .map((word) => word.trim())
      .filter((word) => word !== "");
  return {
    fqn: fqn.trim(),
    kind: ResolverKind.ONLINE,
    inputs: words(left).map((word) => ({
      name: word,
      kind: { case: "feature" as const, value: { path: word.replace("?", ""), optional: word.endsWith("?") } },
    })),
    outputs: words(right),
    span: span("resolvers.py"),
    body: { case: "python" as const, value: { name: fqn.trim() } },
    ...more,
  } as MessageInitShape<typeof ResolverSchema>;
}

/** A graph. Namespaces are the class names in lower case. */
export function graphOf(
  classes: Classes,
  more: {
    resolvers?: MessageInitShape<typeof ResolverSchema>[];
    namedQueries?: MessageInitShape<typeof NamedQuerySchema>[];
    streamResolvers?: MessageInitShape<typeof StreamResolverSchema>[];
    sources?: { name: string; kind: SourceKind }[];
    diagnostics?: { code: number }[];
  } = {},
): Graph {
  return create(GraphSchema, {
    featureSets: Object.entries(classes).map(([className, words]) => {
      const namespace = className.toLowerCase();
      const features = words.split(" ").map((word) => feature(namespace, word));
      return { namespace, className, module: "features", features, primaryKey: `${namespace}.id`, span: span("features.py") };
    }),
    ...more,
  });
}
