/** Resolvers in words. */

import type { ResolverInputJson, ResolverJson } from "../../../../gen/svc/v1/graph_pb.ts";

/** What runs it: `Python, online`, `SQL, offline`. */
export function resolverKind({ kind, sql }: ResolverJson): string {
  return `${sql ? "SQL" : "Python"}, ${kind === "RESOLVER_KIND_OFFLINE" ? "offline" : "online"}`;
}

/** What it gives for a row: `values`, `rows of user`, `user.txns`. */
export function resultText({ outputShape, outputs = [], relation = "" }: ResolverJson): string {
  if (outputShape === "OUTPUT_SHAPE_RELATION") return `the rows of ${relation}`;
  if (outputShape === "OUTPUT_SHAPE_ROWS") return `rows of ${outputs[0]?.split(".", 1)[0] ?? "a class"}`;
  return "values of one row";
}

/** The feature paths of all inputs, those of SQL parameters among them, each once. */
export function inputPaths({ inputs = [], sql }: ResolverJson): readonly string[] {
  const own = [...inputs.flatMap(pathsOf), ...(sql?.parameters ?? []).map(({ path = "" }) => path)];
  return [...new Set(own.filter((path) => path !== ""))];
}

function pathsOf({ feature, rows, table }: ResolverInputJson): readonly string[] {
  return feature ? [feature.path ?? ""] : rows ? [rows.path ?? ""] : (table?.columns ?? []);
}

/** Whether it is computed without Python: `yes`, `in part`, or why not; empty for SQL. */
export function translationText({ python, translated = {}, untranslated = "" }: ResolverJson): string {
  if (!python) return "";
  if (Object.keys(translated).length > 0) return "without Python";
  return untranslated === "" ? "in Python" : `in Python: ${untranslated}`;
}

/** The words that a search looks at. */
export function resolverWords(resolver: ResolverJson): string {
  const { description = "", fqn = "", outputs = [], owner = "", tags = [] } = resolver;
  return [fqn, description, owner, ...tags, ...outputs, ...inputPaths(resolver), resolverKind(resolver)].join("\n").toLowerCase();
}
