/**
 * Queries of feature classes that are not deployed: their expressions, computed of the values that
 * the query gives. Nothing is read or stored anywhere, and no resolver runs.
 */

import { type Diagnostic, ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { type Feature, type Graph, GraphSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { checkExpression, checkGraphExpressions } from "../../domain/expressions/check.ts";
import { isNullType } from "../../domain/expressions/types.ts";
import { finding, isError } from "../../domain/finding.ts";
import { GraphIndex } from "../../domain/graph-index.ts";
import { readableName } from "../../domain/name.ts";
import { EXPRESSION_TYPE } from "../../domain/rules/expressions.ts";
import { createLog } from "../log.ts";
import type { Answer } from "./answer/answer.ts";
import { createEngine } from "./create-engine.ts";
import type { LiveDeployment } from "./live-deployment.ts";
import { QueryRefused, refusal } from "./refusal.ts";
import type { QueryRequest } from "./request/request.ts";
import type { Awaitable } from "./run/awaitable.ts";

/** Most features of all classes together. */
const MAX_FEATURES = 20_000;

/**
 * Answers a query by the expressions of feature classes alone. Throws QueryRefused for what neither
 * a given value nor an expression gives.
 * @param now epoch milliseconds at which the query was received
 */
export type Standalone = (request: QueryRequest, now: number) => Awaitable<Answer>;

/**
 * Makes a graph's feature classes answer queries. Throws QueryRefused for a graph that has anything
 * else, and for expressions that lint refuses, each with its place.
 * @param graph how its features are stored is taken out of it
 */
export function createStandalone(graph: Graph): Standalone {
  const other = GraphSchema.fields.find(
    ({ fieldKind, localName }) => fieldKind === "list" && localName !== "featureSets" && graph[localName as "resolvers"].length > 0,
  );
  if (other) throw refused(`the graph has ${other.name}, and without a deployment only feature_sets are computed`);
  const features = graph.featureSets.flatMap((set) => set.features);
  if (features.length > MAX_FEATURES) throw refused(`the classes have ${features.length} features, and at most ${MAX_FEATURES} are taken`);
  for (const feature of features) forgetStores(feature);
  const errors = checkGraphExpressions(graph).filter(isError);
  if (errors.length === 0) errors.push(...giveTypes(graph));
  if (errors.length > 0) throw new QueryRefused(errors.map((error) => refusal(ErrorCode.INVALID_QUERY, textOf(error))));
  const engine = createEngine({ clock: { now: Date.now }, log: createLog({ write: () => undefined, clock: { now: Date.now } }) });
  const deployment = standalone(graph);
  return (request, now) => engine.answer(deployment, request, now);
}

function refused(message: string): QueryRefused {
  return new QueryRefused([refusal(ErrorCode.INVALID_QUERY, message)]);
}

/** A finding as the SDK words its own. */
function textOf({ code, message, span }: Diagnostic): string {
  return `Error[${code}]: ${message}${span ? ` (${span.file}:${span.line}:${span.column})` : ""}`;
}

/**
 * Gives an expression that is no feature's, and comes as one without a type, the type that it has.
 * Returns the findings of those that have none.
 */
function giveTypes(graph: Graph): Diagnostic[] {
  const index = new GraphIndex(graph);
  return graph.featureSets.flatMap((set) =>
    set.features.flatMap(({ fqn, kind, span }) => {
      if (kind.case !== "scalar" || kind.value.dtype) return [];
      const { expression, window } = kind.value;
      const type = expression && checkExpression(expression, { index, set, isWindowed: window !== undefined }, span).type;
      if (!type || isNullType(type)) return [finding(EXPRESSION_TYPE.untyped({ feature: readableName(fqn) }), expression?.span ?? span)];
      kind.value.dtype = type;
      return [];
    }),
  );
}

/** Has a feature be computed, whatever its definition says of stored values. */
function forgetStores(feature: Feature): void {
  feature.maxStaleness = undefined;
  if (feature.kind.case === "scalar") feature.kind.value.materialization = undefined;
}

/** A deployment that nobody made: of classes alone, without workers, databases and stores. */
function standalone(graph: Graph): LiveDeployment {
  const absent = (what: string) => (): never => {
    throw new Error(`a query without a deployment asked for ${what}`);
  };
  return {
    ...{ id: "", environmentId: "", environmentName: "", scope: "", graph, featureIds: new Map() },
    pool: { call: absent("a worker"), health: absent("a worker"), drain: async () => undefined },
    sources: { get: absent("a database"), list: () => [], close: async () => undefined },
    online: { read: absent("the online store"), put: absent("the online store") },
  };
}
