/** Arguments of functions as people write them: a JSON object of lists, by parameter. */

import type { FunctionParameterJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { DataTypeJson } from "../../../../gen/svc/v1/value_pb.ts";

const EXAMPLES: Readonly<Record<string, unknown>> = {
  PRIMITIVE_TYPE_INT64: 1,
  PRIMITIVE_TYPE_FLOAT64: 1.5,
  PRIMITIVE_TYPE_BOOL: true,
  PRIMITIVE_TYPE_DATE: "2026-01-31",
  PRIMITIVE_TYPE_DATETIME: "2026-01-31T12:00:00Z",
  PRIMITIVE_TYPE_DECIMAL: "1.50",
  PRIMITIVE_TYPE_JSON: {},
};

/** Arguments of one row for the parameters that have to be given. */
export function exampleArguments(parameters: readonly FunctionParameterJson[]): string {
  const needed = parameters.filter(({ hasDefault = false }) => !hasDefault);
  return JSON.stringify(Object.fromEntries(needed.map(({ dtype, name = "" }) => [name, [exampleOf(dtype)]])));
}

function exampleOf(type: DataTypeJson | undefined): unknown {
  if (type?.list) return [];
  if (type?.struct) return {};
  if (type?.enum) return null;
  return EXAMPLES[type?.primitive ?? ""] ?? "";
}

/** What keeps a text from being arguments; undefined when nothing does. */
export function argumentsProblem(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : String(error)}.`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return "Arguments are a JSON object with a list for each parameter.";
  const single = Object.entries(value).find(([, list]) => !Array.isArray(list));
  return single && `'${single[0].slice(0, 100)}' is no list: each parameter has a list with a value for each row.`;
}

/** The values of a result, one in each line. */
export function resultLines(columnsJson: string): string {
  const { result = [] } = JSON.parse(columnsJson) as { readonly result?: readonly unknown[] };
  return result.map((value) => JSON.stringify(value)).join("\n");
}
