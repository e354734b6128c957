/**
 * The checks of a graph that need its databases, which only the server reaches: rules 154, 158 and
 * 159.
 */

import { clone } from "@bufbuild/protobuf";
import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import { type Graph, type Resolver, ResolverSchema, SourceKind, type SqlQuery } from "../../../gen/svc/v1/graph_pb.ts";
import { closestNames } from "../../domain/closest.ts";
import { errorText } from "../../domain/error-text.ts";
import { finding } from "../../domain/finding.ts";
import { isInEnvironment } from "../../domain/in-environment.ts";
import { environmentPrefix } from "../../domain/integrations.ts";
import { STATEMENT_REJECTED, UNUSABLE_SOURCE } from "../../domain/rules/sql-files.ts";
import { completeStar } from "../../domain/sql/columns.ts";
import { kindName } from "../sql/create-sources.ts";
import { SqlError, type SqlSource, type SqlSources } from "../sql/source.ts";
import { SOURCE_DRIVERS } from "../sql/source-drivers.ts";
import { prepareStatement, spanInBody } from "./statement.ts";

/** Options of the checks. */
export interface CheckOptions {
  readonly sources: SqlSources;
  /** Resolvers of other environments are not checked: their sources may exist only there. */
  readonly environmentName: string;
  /**
   * Names of sources whose statements cannot be checked now, for example a file that comes with the
   * bundle.
   */
  readonly unavailable?: ReadonlySet<string>;
}

/**
 * Checks every SQL resolver of the environment against its database, and puts in the place of
 * resolvers that select `*` such as have the database's columns. Findings are in the order of the
 * resolvers.
 */
export async function checkSqlResolvers(graph: Graph, options: CheckOptions): Promise<Diagnostic[]> {
  const reachable = new Map<string, Promise<string | undefined>>();
  const whyUnreachable = (source: SqlSource): Promise<string | undefined> => {
    const known = reachable.get(source.name);
    if (known) return known;
    const testing = source.test().then(
      () => undefined,
      (error: unknown) => errorText(error),
    );
    reachable.set(source.name, testing);
    return testing;
  };
  const findings: Diagnostic[] = [];
  const reported = new Set<string>();
  for (const [place, resolver] of graph.resolvers.entries()) {
    if (resolver.body.case !== "sql") continue;
    if (!isInEnvironment(resolver.environments, options.environmentName)) continue;
    const query = resolver.body.value;
    if (options.unavailable?.has(sourceName(query.source, options.sources))) continue;
    let source: SqlSource;
    try {
      source = options.sources.get(query.source);
    } catch (error) {
      if (!(error instanceof SqlError)) throw error;
      findings.push(noSource(resolver, query, options.sources, error));
      continue;
    }
    const reason = await whyUnreachable(source);
    if (reason === undefined) findings.push(...(await checkStatement(graph, place, resolver, query, source)));
    else if (!reported.has(source.name)) {
      reported.add(source.name);
      findings.push(unreachable(query.sourceSpan ?? resolver.span, source, reason));
    }
  }
  return findings;
}

/**
 * The name of the source that a query refers to, by name or by a kind of which there is only one
 * source; the given text when neither is so.
 */
function sourceName(named: string, sources: SqlSources): string {
  const listed = sources.list();
  if (listed.some(({ name }) => name === named)) return named;
  const [only, ...others] = listed.filter(({ kind }) => kindName(kind) === named.toLowerCase());
  return only && others.length === 0 ? only.name : named;
}

function noSource(resolver: Resolver, query: SqlQuery, sources: SqlSources, error: SqlError): Diagnostic {
  const listed = sources.list();
  const meant = listed.find(({ name }) => name === sourceName(query.source, sources));
  const [closest] = closestNames(
    query.source,
    listed.map(({ name }) => name),
    1,
  );
  return finding(UNUSABLE_SOURCE.named({ problem: error.message }), query.sourceSpan ?? resolver.span, {
    hint: meant ? settingsHint(meant) : closest ? `Did you mean '${closest}'?` : HOW_TO_DECLARE,
  });
}

const HOW_TO_DECLARE =
  "Declare it in Python: `from svc.sources import SQLiteSource` (or PostgreSQLSource and others), then `SQLiteSource(name=...)`, and name it in `-- source:`.";

function unreachable(span: Span | undefined, source: SqlSource, reason: string): Diagnostic {
  const violation = UNUSABLE_SOURCE.unusable({ source: source.name, kind: kindName(source.kind), problem: reason });
  return finding(violation, span, { hint: settingsHint(source) });
}

/**
 * A hint on where to give the settings of a source: the server's environment, not that of `svc
 * apply`.
 */
function settingsHint({ name, kind }: Pick<SqlSource, "name" | "kind">): string {
  const prefix = environmentPrefix(name);
  const driver = SOURCE_DRIVERS.find((one) => one.kind === kind);
  const isFile = kind === SourceKind.SQLITE || kind === SourceKind.DUCKDB;
  const variable = `${prefix}_${driver?.variable ?? ""}${isFile ? "" : " and so on"}`;
  const byIntegration = isFile ? "" : ` Or give them by an integration named '${name}': \`svc integration apply\`.`;
  return `Its settings come from the code, or from the environment of the server (${variable}): set the variable where the server is started, and start it again.${byIntegration}`;
}

async function checkStatement(graph: Graph, place: number, resolver: Resolver, query: SqlQuery, source: SqlSource): Promise<Diagnostic[]> {
  const statement = prepareStatement(query, source);
  let columns: readonly string[];
  try {
    columns = await source.describe(statement.text);
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    const span = error.offset === undefined ? resolver.span : spanInBody(resolver, query, statement.bodyOffset(error.offset));
    const details = { source: source.name, problem: error.message };
    return [finding(error.offset === undefined ? STATEMENT_REJECTED.somewhere(details) : STATEMENT_REJECTED.here(details), span)];
  }
  const set = query.star ? graph.featureSets.find(({ namespace }) => namespace === query.namespace) : undefined;
  if (!set) return [];
  const completed = clone(ResolverSchema, resolver);
  graph.resolvers[place] = completed;
  return completeStar(completed, columns, set);
}
