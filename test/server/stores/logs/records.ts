/** Records for tests of the log store; what a test does not name is the same in all. */

import { LINE_FIELDS, REQUEST_FIELDS } from "../../../../src/domain/logs.ts";
import { parseSearch } from "../../../../src/domain/search/tree.ts";
import type { LogFilter, LogRecord } from "../../../../src/server/stores/logs/store.ts";

/** A line of a resolver. */
export const line = (message: string, atMs: number, more: Partial<LogRecord> = {}): LogRecord => ({
  at: atMs * 1_000,
  level: "info",
  component: "engine",
  environmentId: "env_1",
  deploymentId: "dpl_1",
  branch: "",
  resolver: "shop.get_user",
  queryName: "",
  resourceGroup: "Default",
  podName: "",
  app: "",
  logger: "stdout",
  operationId: "",
  correlationId: "",
  traceId: "",
  spanId: "",
  message,
  attributes: {},
  ...more,
});

/** A request that the gateway answered. */
export const request = (path: string, atMs: number, attributes: LogRecord["attributes"]): LogRecord =>
  line(path, atMs, { component: "gateway", environmentId: "", deploymentId: "", resolver: "", logger: "", attributes });

/** A filter by a search, in the environment of `line`, or about the whole server for requests. */
export const filter = (search = "", more: Partial<LogFilter> = {}): LogFilter => {
  const { kind = "line" } = more;
  return {
    kind,
    environmentIds: kind === "line" ? ["env_1"] : [""],
    search: parseSearch(search, kind === "line" ? LINE_FIELDS : REQUEST_FIELDS),
    ...more,
  };
};
