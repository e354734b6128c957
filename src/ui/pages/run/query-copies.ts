/** A query in the forms in which people take it elsewhere. */

import { shellWord } from "../../parts/command-line.ts";
import { filled, type QueryForm } from "./query-form.ts";

/** Whether a name is of a feature with text as its type. */
export type IsText = (name: string) => boolean;

/** The words of `svc query` for a form, without its scope. */
export function commandWords(form: QueryForm, deployment: string): readonly string[] {
  const { inputs, outputs, staleness, tags, context, plannerOptions, ...rest } = filled(form);
  const pairs = (flag: string, all: readonly (readonly [string, string])[]) => all.flatMap(([name, text]) => [flag, `${name}=${text}`]);
  const given = (flag: string, text: string) => (text === "" ? [] : [flag, text]);
  return [
    "query",
    ...pairs("--in", inputs),
    ...outputs.flatMap((output) => ["--out", output]),
    ...pairs("--staleness", staleness),
    ...tags.flatMap((tag) => ["--tag", tag]),
    ...given("--now", rest.now),
    ...given("--query-name", rest.queryName),
    ...given("--query-name-version", rest.queryNameVersion),
    ...given("--correlation-id", rest.correlationId),
    ...pairs("--query-context", context),
    ...pairs("--planner-option", plannerOptions),
    ...given("--deployment", deployment),
    ...(rest.explain ? ["--explain"] : []),
    ...(rest.trace ? ["--trace"] : []),
    ...(rest.stages ? ["--store-plan-stages"] : []),
  ];
}

/** A call of the Python client. */
export function pythonText(form: QueryForm, isText: IsText, scope: { readonly environment: string; readonly branch: string }): string {
  const { inputs, outputs, staleness, tags, context, plannerOptions, ...rest } = filled(form);
  const dict = (all: readonly (readonly [string, string])[], literal: (text: string, name: string) => string) =>
    `{${all.map(([name, text]) => `${quoted(name)}: ${literal(text, name)}`).join(", ")}}`;
  const list = (all: readonly string[]) => `[${all.map(quoted).join(", ")}]`;
  const scoped = Object.entries(scope).flatMap(([name, text]) => (text === "" ? [] : [`${name}=${quoted(text)}`]));
  const given: readonly (readonly [string, string | undefined])[] = [
    ["input", dict(inputs, (text, name) => (isText(name) && !isQuoted(text) ? quoted(text) : pythonLiteral(text)))],
    ["output", outputs.length > 0 ? list(outputs) : undefined],
    ["staleness", staleness.length > 0 ? dict(staleness, quoted) : undefined],
    ["tags", tags.length > 0 ? list(tags) : undefined],
    ["now", rest.now === "" ? undefined : quoted(rest.now)],
    ["query_name", rest.queryName === "" ? undefined : quoted(rest.queryName)],
    ["query_name_version", rest.queryNameVersion === "" ? undefined : quoted(rest.queryNameVersion)],
    ["correlation_id", rest.correlationId === "" ? undefined : quoted(rest.correlationId)],
    ["query_context", context.length > 0 ? dict(context, pythonLiteral) : undefined],
    ["planner_options", plannerOptions.length > 0 ? dict(plannerOptions, quoted) : undefined],
    ["explain", rest.explain ? "True" : undefined],
    ["trace", rest.trace ? "True" : undefined],
    ["store_plan_stages", rest.stages ? "True" : undefined],
  ];
  const lines = given.flatMap(([name, text]) => (text === undefined ? [] : [`    ${name}=${text},`]));
  return ["from svc.client import SvcClient", "", `result = SvcClient(${scoped.join(", ")}).query(`, ...lines, ")"].join("\n");
}

/** A command line of curl; `svc token` gives it the token. */
export function curlText(
  form: QueryForm,
  isText: IsText,
  origin: string,
  scope: { readonly environment: string; readonly branch: string; readonly deployment: string },
): string {
  const { inputs, outputs, staleness, tags, context, plannerOptions, ...rest } = filled(form);
  const object = (all: readonly (readonly [string, string])[], text: (one: string, name: string) => string) =>
    `{${all.map(([name, one]) => `${JSON.stringify(name)}: ${text(one, name)}`).join(", ")}}`;
  const texts = (all: readonly (readonly [string, string])[]) => object(all, (one) => JSON.stringify(one));
  const given: readonly (readonly [string, string | undefined])[] = [
    ["inputs", object(inputs, (text, name) => (isText(name) && !isQuoted(text) ? JSON.stringify(text) : jsonText(text)))],
    ["outputs", outputs.length > 0 ? JSON.stringify(outputs) : undefined],
    ["staleness", staleness.length > 0 ? texts(staleness) : undefined],
    ["context", tags.length > 0 ? `{"tags": ${JSON.stringify(tags)}}` : undefined],
    ["now", rest.now === "" ? undefined : JSON.stringify(rest.now)],
    ["query_name", rest.queryName === "" ? undefined : JSON.stringify(rest.queryName)],
    ["query_name_version", rest.queryNameVersion === "" ? undefined : JSON.stringify(rest.queryNameVersion)],
    ["correlation_id", rest.correlationId === "" ? undefined : JSON.stringify(rest.correlationId)],
    ["query_context", context.length > 0 ? object(context, jsonText) : undefined],
    ["planner_options", plannerOptions.length > 0 ? texts(plannerOptions) : undefined],
    ...(["explain", "trace"] as const).map((name) => [name, rest[name] ? "true" : undefined] as const),
    ["store_plan_stages", rest.stages ? "true" : undefined],
  ];
  const body = `{${given.flatMap(([name, text]) => (text === undefined ? [] : [`"${name}": ${text}`])).join(", ")}}`;
  const headers = Object.entries(scope).flatMap(([part, name]) => (name === "" ? [] : [`svc-${part}: ${encodeURIComponent(name)}`]));
  return [
    `curl ${shellWord(`${origin}/v1/query/online`)} -H "Authorization: Bearer $(svc token)"`,
    ...["content-type: application/json", ...headers].map((header) => `-H ${shellWord(header)}`),
    `-d ${shellWord(body)}`,
  ].join(" \\\n  ");
}

/** Text as JSON: as it is when it is JSON, else quoted. */
function jsonText(text: string): string {
  try {
    JSON.parse(text);
    return text.trim();
  } catch {
    return JSON.stringify(text);
  }
}

/** Whether a text is JSON of a text. */
function isQuoted(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "string";
  } catch {
    return false;
  }
}

/** A text as Python's literal: JSON's strings are Python's too, but for lone surrogates. */
function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

function pythonLiteral(text: string): string {
  if (/^-?(0|[1-9]\d*)$/.test(text.trim())) return text.trim();
  try {
    return pythonOf(JSON.parse(text));
  } catch {
    return quoted(text);
  }
}

function pythonOf(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([name, one]) => `${quoted(name)}: ${pythonOf(one)}`)
      .join(", ")}}`;
  return quoted(String(value));
}
