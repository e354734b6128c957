/** What is known of a log line beside its message, by the names that searches have. */

import type { LogLineJson } from "../../../../gen/svc/v1/log_pb.ts";
import { ATTRIBUTES } from "../../../domain/logs.ts";

const FIELDS = {
  level: "level",
  component: "component",
  resolver: "resolver",
  query_name: "queryName",
  operation_id: "operationId",
  correlation_id: "correlationId",
  trace_id: "traceId",
  span_id: "spanId",
  deployment: "deploymentId",
  branch: "branch",
  pod_name: "podName",
  resource_group: "resourceGroup",
  app: "app",
  logger: "logger",
} as const satisfies Readonly<Record<string, keyof LogLineJson>>;

/** A field's name in searches, and its value. */
export type LineField = readonly [name: string, value: string];

/** The fields of a line that are not empty. */
export function fieldsOf(line: LogLineJson): readonly LineField[] {
  const own = Object.entries(FIELDS).map(([name, property]): LineField => [name, line[property] ?? ""]);
  const attributes = Object.entries(line.attributes ?? {}).map(([name, value]): LineField => [ATTRIBUTES + name, value]);
  return [...own, ...attributes].filter(([, value]) => value !== "");
}

/** Lines as JSON, one in each line of text, oldest first. */
export function jsonLines(newestFirst: readonly LogLineJson[]): string {
  return newestFirst
    .map((line) => `${JSON.stringify(line)}\n`)
    .reverse()
    .join("");
}
