/**
 * Rule 194: a data source needs a driver that the requirements do not name. The server reads the
 * kinds of `server/sql/source-drivers.ts` itself, for which nothing need be installed. Sources of
 * other kinds are read by Python with a driver of the maker's, so the requirements must hold that
 * package, or the SDK with the extra of that name (`svc[redshift]`).
 */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { finding } from "../../domain/finding.ts";
import { MISSING_DRIVER } from "../../domain/rules/project.ts";
import { dottedPath, type ProjectModel } from "./project-model.ts";
import type { Spans } from "./spans.ts";

interface Driver {
  readonly extra: string;
  readonly packages: readonly [string, ...string[]];
}

const DRIVERS: Readonly<Record<string, Driver>> = {
  RedshiftSource: { extra: "redshift", packages: ["redshift-connector"] },
  DatabricksSource: { extra: "databricks", packages: ["databricks-sql-connector"] },
  TrinoSource: { extra: "trino", packages: ["trino"] },
  AthenaSource: { extra: "athena", packages: ["pyathena"] },
  SpannerSource: { extra: "spanner", packages: ["google-cloud-spanner"] },
  DynamoDBSource: { extra: "dynamodb", packages: ["boto3"] },
};

/**
 * Findings about the drivers of the sources that the project makes.
 * @param requirements text of the requirements file; undefined when the environment names none
 */
export function requirementFindings(model: ProjectModel, spans: Spans, requirements: string | undefined): Diagnostic[] {
  const named = requirementNames(requirements ?? "");
  if (!named) return [];
  return model.modules.flatMap((module) =>
    module.calls.flatMap(({ call }) => {
      const source = model.sdkName(module, dottedPath(call.callee) ?? []);
      const driver = source === undefined ? undefined : DRIVERS[source];
      if (source === undefined || !driver || named.has(`svc[${driver.extra}]`) || driver.packages.some((name) => named.has(name)))
        return [];
      const where = requirements === undefined ? "no requirements file names" : "the requirements file does not name";
      const problem = MISSING_DRIVER.missing({ source, driver: driver.packages[0], where, extra: driver.extra });
      return [finding(problem, spans.of(module, call.callee.from, call.callee.to))];
    }),
  );
}

/**
 * Names of a requirements file, normalized, extras of the SDK as `svc[x]`; undefined when it
 * includes a file that is not given.
 */
export function requirementNames(text: string): Set<string> | undefined {
  const names = new Set<string>();
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.replace(/(?:^|\s)#.*$/, "").trim();
    if (/^(?:-r|--requirement|-e|--editable)\b/.test(line)) return undefined;
    const match = /^([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?/.exec(line);
    if (!match) continue;
    const name = (match[1] as string).toLowerCase().replaceAll(/[-_.]+/g, "-");
    names.add(name);
    if (name === "svc") for (const extra of (match[2] ?? "").split(",")) names.add(`svc[${extra.trim().toLowerCase()}]`);
  }
  return names;
}
