/**
 * SQL file resolvers: from the files' text and the features that Python defines to resolvers and
 * findings. Pure.
 */

import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import type { Graph, Resolver } from "../../../gen/svc/v1/graph_pb.ts";
import { finding, mergeFindings } from "../finding.ts";
import { GraphIndex } from "../graph-index.ts";
import { DUPLICATE_RESOLVER } from "../rules/resolvers.ts";
import { isSqlFile, sqlResolverFqn } from "../source-file.ts";
import { SqlFileLinker } from "./link-file.ts";
import type { Completeness, SqlFile } from "./link-input.ts";

/**
 * The resolvers of SQL files, checked against a graph: rules 146, 148, 149, 150, 151, 152, 153,
 * 155, 157, 158, 197, 198. A file with errors gives no resolver. `graph.resolvers` are the Python
 * ones, whose names may not be taken again.
 */
export function linkSqlFiles(
  files: readonly SqlFile[],
  graph: Graph,
  completeness?: Completeness,
): { resolvers: Resolver[]; diagnostics: Diagnostic[] } {
  const index = new GraphIndex(graph);
  const complete = completeness ?? { allClasses: !index.isPartial, allFeatures: () => true };
  const resolvers: Resolver[] = [];
  const diagnostics: Diagnostic[] = [];
  const taken = new Map<string, Span | undefined>();
  for (const resolver of graph.resolvers) taken.set(resolver.fqn, resolver.span);
  for (const file of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    if (!isSqlFile(file.path)) continue;
    const linked = new SqlFileLinker(file, index, complete).link();
    diagnostics.push(...linked.diagnostics);
    const fqn = sqlResolverFqn(file.path);
    if (taken.has(fqn)) {
      const first = taken.get(fqn);
      diagnostics.push(
        finding(DUPLICATE_RESOLVER.sqlFile({ resolver: fqn }), linked.nameSpan, {
          related: first ? [{ span: first, message: "first defined here" }] : [],
          hint: "Rename one of the files.",
        }),
      );
      continue;
    }
    taken.set(fqn, linked.nameSpan);
    if (linked.resolver) resolvers.push(linked.resolver);
  }
  return { resolvers, diagnostics: mergeFindings(diagnostics) };
}
