/** Expressions and their classes for tests, in few words. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Expression, ExpressionSchema, type Graph, GraphSchema, type HasManySchema } from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, DataTypeSchema, VectorPrecision } from "../../../gen/svc/v1/value_pb.ts";
import { listOf, PRIMITIVES } from "../../../src/domain/expressions/types.ts";
import { GraphIndex } from "../../../src/domain/graph-index.ts";
import { toProtoValue } from "../../../src/domain/proto-value.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";

/** A type by its name: `int`, `list[str]`, `list[int?]` for a list that may hold nulls. */
export function typeOf(word: string): DataType {
  const element = /^list\[(.+?)(\?)?\]$/.exec(word);
  if (element) return listOf(typeOf(element[1] as string), element[2] !== undefined);
  const size = /^Vector\[(\d+)\]$/.exec(word)?.[1];
  if (size !== undefined) {
    const vector = { size: Number(size), precision: VectorPrecision.F32 };
    return create(DataTypeSchema, { kind: { case: "list", value: { element: PRIMITIVES.float, vector } } });
  }
  const type = (PRIMITIVES as Readonly<Record<string, DataType>>)[word];
  if (!type) throw new Error(`no type ${word}`);
  return type;
}

/** `_.a.b`, of the row `scope` brackets out. */
export function ref(path: string, scope = 0): Expression {
  return create(ExpressionSchema, { node: { case: "feature", value: { path: path.split("."), scope } } });
}

/** A function applied to arguments. */
export function call(name: string, ...args: Expression[]): Expression {
  return create(ExpressionSchema, { node: { case: "call", value: { function: name, arguments: args } } });
}

/** A constant. */
export function constant(value: FeatureValue, type?: DataType): Expression {
  return create(ExpressionSchema, { node: { case: "literal", value: toProtoValue(value, type) } });
}

/** An aggregation of the rows of `path`. */
export function aggregate(path: string, name: string, column?: Expression, ...filters: Expression[]): Expression {
  return create(ExpressionSchema, {
    node: { case: "aggregation", value: { path: path.split("."), function: name, filters, ...(column && { column }) } },
  });
}

/** The aggregation with what rows are chosen by, and with constant arguments. */
export function withArguments(made: Expression, key: Expression | undefined, ...constants: readonly FeatureValue[]): Expression {
  if (made.node.case !== "aggregation") throw new Error("no aggregation");
  if (key) made.node.value.key = key;
  made.node.value.arguments = constants.map((constant) => toProtoValue(constant));
  return made;
}

/** `_.svc_now`. */
export const now = create(ExpressionSchema, { node: { case: "queryNow", value: {} } });
/** `_.svc_window`. */
export const windowStart = create(ExpressionSchema, { node: { case: "windowStart", value: {} } });

/**
 * Relations of a class: `account->account` has one, `txns=>txn` has many; `?` behind it: optional.
 */
const RELATION = /^(\w+)(->|=>)(\w+)(\?)?$/;

/**
 * A graph of classes; features are `name:type`, `?` behind the type: may be null, `@` behind the
 * name: feature time. Namespaces are the class names in lower case.
 */
export function graphOfTypes(classes: Readonly<Record<string, string>>): Graph {
  return create(GraphSchema, {
    featureSets: Object.entries(classes).map(([className, words]) => {
      const namespace = className.toLowerCase();
      const features = words.split(" ").map((word) => {
        const relation = RELATION.exec(word);
        const [name = "", type = ""] = relation ? [relation[1]] : word.split(":");
        const base = { fqn: `${namespace}.${name.replace("@", "")}`, name: name.replace("@", ""), namespace };
        const join: MessageInitShape<typeof HasManySchema>["join"] = [{ local: `${namespace}.id`, foreign: `${relation?.[3]}.id` }];
        if (relation?.[2] === "=>")
          return { ...base, kind: { case: "hasMany" as const, value: { foreignNamespace: relation[3] ?? "", join } } };
        if (relation)
          return {
            ...base,
            kind: { case: "hasOne" as const, value: { foreignNamespace: relation[3] ?? "", join, optional: relation[4] !== undefined } },
          };
        const nullable = type.endsWith("?");
        const dtype = typeOf(nullable ? type.slice(0, -1) : type);
        return {
          ...base,
          kind: { case: "scalar" as const, value: { dtype, nullable, featureTime: name.endsWith("@"), primary: name === "id" } },
        };
      });
      const time = features.find((feature) => feature.kind.case === "scalar" && feature.kind.value.featureTime);
      return { namespace, className, module: "features", primaryKey: `${namespace}.id`, featureTime: time?.fqn ?? "", features };
    }),
  });
}

/** The scope of rows of a class. */
export function scopeOf(graph: Graph, namespace: string) {
  const index = new GraphIndex(graph);
  const set = index.sets.get(namespace);
  if (!set) throw new Error(`no class ${namespace}`);
  return { index, set };
}
