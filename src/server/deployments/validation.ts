/**
 * Validation of a graph that is not deployed yet, as the analyzer on its author's machine made it.
 */

import { isAbsolute } from "node:path";
import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { type Graph, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { environmentPrefix } from "../../domain/integrations.ts";
import { Failure } from "../failure.ts";
import type { SqlSourcesOptions } from "../sql/create-sources.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import { checkSqlResolvers } from "./checks.ts";
import { checkStreamStatements, type StatementExaminer } from "./stream-statements.ts";

/** Most definitions of a graph that is checked and compared: other requests wait meanwhile. */
const MAX_DEFINITIONS = 50_000;

/** Throws Failure invalid_argument for a graph of more definitions than are checked. */
export function refuseVastGraph({ featureSets, ...graph }: Graph): void {
  const { computeFunctions, diagnostics, evaluations, monitors, namedQueries, resolvers, sources } = graph;
  const features = featureSets.reduce((sum, set) => sum + set.features.length, featureSets.length);
  const others = [resolvers, namedQueries, monitors, evaluations, computeFunctions, sources, diagnostics];
  const definitions = others.reduce((sum, { length }) => sum + length, features);
  if (definitions > MAX_DEFINITIONS)
    throw new Failure("invalid_argument", `The project has ${definitions} definitions, and more than ${MAX_DEFINITIONS} are not checked.`, {
      hint: "Deploy it as several projects.",
    });
}

/**
 * The server's findings on a graph. Statements on a SQLite file with a relative path are checked
 * only by the deployment, because the file may be in the bundle; those of a protected environment
 * only once the deployment is approved, because its databases are not for code of just anybody.
 */
export async function validateGraph(
  graph: Graph,
  environment: Pick<EnvironmentRecord, "name">,
  {
    isProtected,
    tables,
    ...given
  }: Pick<SqlSourcesOptions, "env" | "integrations" | "home"> & {
    readonly isProtected: boolean;
    readonly tables: () => Promise<StatementExaminer>;
  },
): Promise<Diagnostic[]> {
  const streams = await checkStreamStatements(graph, environment.name, tables);
  if (isProtected || !graph.resolvers.some(({ body }) => body.case === "sql")) return streams;
  const { createSqlSources } = await import("../sql/create-sources.ts");
  const sources = createSqlSources({ declared: graph.sources, ...given });
  const inBundle = graph.sources.filter(({ name, kind, settings }) => {
    const variable = kind === SourceKind.SQLITE ? "SQLITE_PATH" : "DUCKDB_PATH";
    const path = given.env[`${environmentPrefix(name)}_${variable}`] || settings.path;
    return (kind === SourceKind.SQLITE || kind === SourceKind.DUCKDB) && path !== undefined && !isAbsolute(path);
  });
  const unavailable = new Set(inBundle.map(({ name }) => name));
  try {
    return [...(await checkSqlResolvers(graph, { sources, environmentName: environment.name, unavailable })), ...streams];
  } finally {
    await sources.close();
  }
}
