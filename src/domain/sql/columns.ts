/**
 * The features that a query's columns fill, for the static reading of a SQL file and for the
 * server, which learns the columns of `*`.
 */

import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import type { FeatureSet, Resolver } from "../../../gen/svc/v1/graph_pb.ts";
import { closestNames } from "../closest.ts";
import { numberedName } from "../feature-version.ts";
import { finding } from "../finding.ts";
import { STAR_COLUMNS, UNKNOWN_OUTPUT } from "../rules/sql-files.ts";

/**
 * The feature of a class that a column's name means: as it is written, else in another case; a
 * leading `<namespace>.` is dropped.
 */
export function featureOfColumn(column: string, set: FeatureSet): FeatureSet["features"][number] | undefined {
  const name = column.startsWith(`${set.namespace}.`) ? column.slice(set.namespace.length + 1) : column;
  const exact =
    set.features.find((feature) => feature.name === name) ??
    set.features.find((feature) => numberedName(feature) === `${set.namespace}.${name}`);
  if (exact) return exact;
  const lower = name.toLowerCase();
  const folded = set.features.filter((feature) => feature.name.toLowerCase() === lower);
  return folded.length === 1 ? folded[0] : undefined;
}

/** Finding 153 about an output that is no value feature of the class. */
export function noSuchOutput(column: string, set: FeatureSet, span: Span | undefined): Diagnostic {
  const feature = featureOfColumn(column, set);
  if (feature) return finding(UNKNOWN_OUTPUT.relation({ column, owner: set.className }), span);
  const names = set.features.filter((candidate) => candidate.kind.case === "scalar").map((candidate) => candidate.name);
  const close = closestNames(column, names);
  const closest =
    close.length > 0
      ? `the closest ${close.length > 1 ? "are" : "is"} ${quoteList(close)}`
      : `it has ${quoteList(names.slice(0, 3), names.length)}`;
  return finding(UNKNOWN_OUTPUT.noSuchFeature({ column, owner: set.className, closest }), span, { replacements: close });
}

function quoteList(names: readonly string[], of = names.length): string {
  const text = names.map((name) => `'${name}'`);
  if (of > text.length) return `${text.join(", ")} and ${of - text.length} more`;
  const last = text.pop() ?? "no values";
  return text.length > 0 ? `${text.join(", ")} and ${last}` : last;
}

/**
 * Completes a `select *` resolver with the columns that the database names (rule 158): columns that
 * fill no feature are ignored, those given in the header's `fields` and named in the select list
 * stay. Call it on the server, for a resolver whose `sql.star` is set, before planning; the
 * resolver is changed in place. The findings name the columns that were looked for and are missing.
 */
export function completeStar(resolver: Resolver, columns: readonly string[], set: FeatureSet): Diagnostic[] {
  if (resolver.body.case !== "sql") return [];
  const sql = resolver.body.value;
  const missing = sql.columns.filter((known) => !columns.some((column) => column.toLowerCase() === known.column.toLowerCase()));
  const filled = new Set(sql.columns.map((known) => known.feature));
  const taken = new Set(sql.columns.map((known) => known.column.toLowerCase()));
  const inputs = new Set(resolver.inputs.map((input) => (input.kind.case === "feature" ? input.kind.value.path : "")));
  for (const column of columns) {
    const feature = taken.has(column.toLowerCase()) ? undefined : featureOfColumn(column, set);
    if (feature?.kind.case !== "scalar" || filled.has(feature.fqn)) continue;
    filled.add(feature.fqn);
    sql.columns.push({ $typeName: "svc.v1.SqlColumn", column, feature: feature.fqn });
    if (!inputs.has(feature.fqn)) resolver.outputs.push(feature.fqn);
  }
  return missing.map(({ column, span }) => {
    const [closest] = closestNames(column, columns, 1);
    const problem = STAR_COLUMNS.missing({ column, columns: quoteList(columns.slice(0, 8), columns.length) });
    const hint = closest === undefined ? "Name a column that there is in the header's `fields`." : `Did you mean '${closest}'?`;
    return finding(problem, span ?? resolver.span, { hint });
  });
}
