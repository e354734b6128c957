/** Statements that resolvers of Python return, as SQL resolvers (rules 153, 156 to 158, 210). */

import { clone, create } from "@bufbuild/protobuf";
import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import {
  type FeatureSet,
  type Graph,
  IncrementalMode,
  type PythonStatement,
  type Resolver,
  ResolverSchema,
  type SqlParameter,
  SqlParameterSchema,
  type SqlQuery,
} from "../../../gen/svc/v1/graph_pb.ts";
import { GraphIndex } from "../graph-index.ts";
import { LineMap } from "../line-map.ts";
import { INCOMPLETE_INCREMENTAL, PYTHON_STATEMENT } from "../rules/sql-files.ts";
import { dialectOf } from "./dialect.ts";
import { FileReport } from "./file-report.ts";
import { namedParameters } from "./named-parameters.ts";
import { ColumnReader } from "./output-columns.ts";
import { inputsOf } from "./placeholders.ts";
import { selectList } from "./select-list.ts";
import { INCREMENTAL_PLACEHOLDER } from "./statement.ts";

/** Names of placeholders that a message lists. */
const SHOWN_NAMES = 8;

/**
 * The resolvers of a graph whose statements Python code states, with their parameters and columns;
 * those with errors are left out.
 */
export function linkStatements(graph: Graph): { resolvers: Resolver[]; diagnostics: Diagnostic[] } {
  const index = new GraphIndex(graph);
  const resolvers: Resolver[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const resolver of graph.resolvers) {
    const python = resolver.body.case === "sql" ? resolver.body.value.python : undefined;
    const set = python && index.set(resolver.body.case === "sql" ? resolver.body.value.namespace : "");
    if (!python) resolvers.push(resolver);
    else if (set) {
      const linked = linkStatement(clone(ResolverSchema, resolver), python, set, graph);
      diagnostics.push(...linked.diagnostics);
      if (linked.resolver) resolvers.push(linked.resolver);
    }
  }
  return { resolvers, diagnostics };
}

/** The findings of a statement, at the places of its text in the code. */
class StatementReport extends FileReport {
  constructor(
    text: string,
    readonly place: Span,
    readonly isExact: boolean,
  ) {
    super(new LineMap(place.file, text), 0);
  }

  /** All of the text: what is not in it has no place of its own. */
  override span(): Span {
    return this.place;
  }

  override spanInBody(start: number, end: number): Span {
    if (!this.isExact) return this.place;
    const span = this.lines.span(start, end);
    if (span.line === 1) span.column += this.place.column - 1;
    if (span.endLine === 1) span.endColumn += this.place.column - 1;
    span.line += this.place.line - 1;
    span.endLine += this.place.line - 1;
    return span;
  }
}

function linkStatement(
  resolver: Resolver,
  python: PythonStatement,
  set: FeatureSet,
  graph: Graph,
): { readonly resolver: Resolver | undefined; readonly diagnostics: Diagnostic[] } {
  const query = resolver.body.value as SqlQuery;
  const name = resolver.fqn.slice(resolver.fqn.lastIndexOf(".") + 1);
  const report = new StatementReport(query.body, python.textSpan as Span, python.exact);
  const dialect = dialectOf(query.source, graph);
  const list = selectList(query.body, dialect);
  const fields = Object.entries(python.fields).map(([column, feature]) => ({ column, feature, start: 0, end: 0 }));
  const spare = query.incremental?.column || undefined;
  const reader = new ColumnReader(report, { allClasses: true, allFeatures: () => true }, list, fields, spare);
  query.parameters = parametersOf(report, python, namedParameters(query.body, dialect), query);
  if (!reader.checkStatement()) return { resolver: undefined, diagnostics: report.findings };
  const columns = reader.read(set, undefined);
  const returned = new Set(python.returned);
  for (const feature of Object.values(python.fields))
    if (!returned.has(feature)) report.addAt(PYTHON_STATEMENT.notReturnedField({ feature, resolver: name }), 0, 0);
  for (const { column, feature, span } of columns) {
    if (returned.has(feature) || feature === set.primaryKey || Object.values(python.fields).includes(feature)) continue;
    report.addFinding(PYTHON_STATEMENT.notReturned({ column, feature, resolver: name }), span);
  }
  if (!report.hasErrors && !list.star)
    for (const feature of returned)
      if (!columns.some((column) => column.feature === feature)) report.addAt(PYTHON_STATEMENT.noColumn({ feature, resolver: name }), 0, 0);
  const isFound = query.parameters.every(({ path }) => path === "");
  if (isFound) reader.checkKey(set);
  query.columns = columns;
  query.star = list.star;
  query.body = query.body.slice(0, list.end);
  if (isFound)
    resolver.inputs = inputsOf(
      query.parameters.filter(({ constant }) => !constant),
      set,
    );
  return { resolver: report.hasErrors ? undefined : resolver, diagnostics: report.findings };
}

/** The placeholders with what is bound for them; those without are findings. */
function parametersOf(
  report: StatementReport,
  python: PythonStatement,
  placeholders: ReturnType<typeof namedParameters>,
  query: SqlQuery,
): SqlParameter[] {
  const given = new Map(python.arguments.map((argument) => [argument.name, argument]));
  const isBound = query.incremental?.mode === IncrementalMode.PARAMETER;
  const parameters: SqlParameter[] = [];
  for (const { name, offset, length } of placeholders) {
    const argument = given.get(name);
    if (argument) {
      const { path, constant } = argument;
      parameters.push(create(SqlParameterSchema, { path, offset, length, ...(constant && { constant }) }));
    } else if (name === INCREMENTAL_PLACEHOLDER && isBound)
      parameters.push(create(SqlParameterSchema, { offset, length, incremental: true }));
    else report.addInBody(PYTHON_STATEMENT.noArgument({ name }), offset, offset + length);
  }
  const names = [...new Set(placeholders.map(({ name }) => `:${name}`))];
  const listed = names.length === 0 ? "none" : names.slice(0, SHOWN_NAMES).join(", ");
  for (const name of given.keys())
    if (!names.includes(`:${name}`)) report.addAt(PYTHON_STATEMENT.unusedArgument({ name, placeholders: listed }), 0, 0);
  if (isBound && !parameters.some(({ incremental }) => incremental)) report.addAt(INCOMPLETE_INCREMENTAL.noPlaceholder(), 0, 0);
  return parameters;
}
