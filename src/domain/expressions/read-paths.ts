/** The features that an expression reads, without regard to types. */

import type { Expression, FeatureSet } from "../../../gen/svc/v1/graph_pb.ts";
import type { GraphIndex } from "../graph-index.ts";
import { type ExpressionScope, resolveRelation, resolveValue } from "./scope.ts";

/**
 * Paths from the namespace of the class, each once: features (`user.total`, `user.account.rating`),
 * relations that are aggregated (`user.txns`) and what is read of their rows (`user.txns.amount`).
 * What leads nowhere is left out: it is a finding of rule 130.
 */
export function readPaths(expression: Expression, set: FeatureSet, index: GraphIndex): string[] {
  const paths = new Set<string>();
  visit(expression, { index, set, isWindowed: true }, [set.namespace], paths);
  return [...paths];
}

/** @param prefixes path of the innermost row, then of the rows around it */
function visit({ node }: Expression, scope: ExpressionScope, prefixes: readonly string[], paths: Set<string>): void {
  const [own] = prefixes as [string];
  if (node.case === "call") for (const argument of node.value.arguments) visit(argument, scope, prefixes, paths);
  if (node.case === "feature") {
    let at: ExpressionScope | undefined = scope;
    for (let step = 0; step < node.value.scope; step++) at = at?.outer;
    const value = at && resolveValue(at, node.value.path);
    if (value?.found) paths.add(`${prefixes[node.value.scope]}.${value.column}`);
  }
  if (node.case === "aggregation") {
    const { filters, column, key, grouping } = node.value;
    const relation = resolveRelation(scope, node.value.path);
    if (!relation.found) return;
    const path = `${own}.${relation.path}`;
    paths.add(path);
    const inner: ExpressionScope = { index: scope.index, set: relation.child, isWindowed: scope.isWindowed, outer: scope };
    for (const part of [...filters, column, key, ...(grouping?.columns.map(({ value }) => value) ?? [])])
      if (part) visit(part, inner, [path, ...prefixes], paths);
  }
}
