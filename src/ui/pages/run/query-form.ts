/**
 * What somebody asks on the page Query, as the address has it and as the contract does. Rows in
 * which nothing was typed are no part of it.
 */

import type { QueryRequestJson } from "../../../../gen/svc/v1/query_pb.ts";
import { readPlannerOptions } from "../../../domain/planner-options.ts";
import { readStaleness } from "../../../domain/staleness.ts";
import { jsonValue } from "./value-json.ts";

/** A name with the text of its value. */
export type Pair = readonly [name: string, text: string];

/** A query as it is typed. */
export interface QueryForm {
  readonly inputs: readonly Pair[];
  readonly outputs: readonly string[];
  /** Features with the age that a stored value may have. */
  readonly staleness: readonly Pair[];
  readonly plannerOptions: readonly Pair[];
  readonly context: readonly Pair[];
  readonly tags: readonly string[];
  /** ISO 8601 with a zone; empty = when it is asked. */
  readonly now: string;
  readonly queryName: string;
  readonly queryNameVersion: string;
  readonly correlationId: string;
  readonly explain: boolean;
  readonly trace: boolean;
  readonly stages: boolean;
}

/** The parts of a form that are lists of pairs. */
export type PairsName = "inputs" | "staleness" | "plannerOptions" | "context";

/** A query in which nothing was typed. */
export const EMPTY_FORM: QueryForm = {
  ...{ inputs: [], outputs: [], staleness: [], plannerOptions: [], context: [], tags: [] },
  ...{ now: "", queryName: "", queryNameVersion: "", correlationId: "" },
  ...{ explain: false, trace: false, stages: false },
};

/** Most characters of an address that holds a query; servers and browsers refuse longer ones. */
const MOST_ADDRESS = 8_000;
const PAIRS = { in: "inputs", staleness: "staleness", option: "plannerOptions", context: "context" } as const;
const TEXTS = { now: "now", name: "queryName", version: "queryNameVersion", id: "correlationId" } as const;
const SWITCHES = ["explain", "trace", "stages"] as const;
/** The length of time that stands for "any age" in the contract's JSON. */
const ANY_AGE = "315576000000s";

/** Names in the address's query that a form has. */
export const FORM_NAMES: readonly string[] = [...Object.keys(PAIRS), ...Object.keys(TEXTS), "out", "tag", "with"];

/** The query that an address names. */
export function readForm(query: URLSearchParams): QueryForm {
  const pairs = Object.entries(PAIRS).map(([name, part]) => [part, query.getAll(name).map(pairOf)]);
  const texts = Object.entries(TEXTS).map(([name, part]) => [part, query.get(name) ?? ""]);
  const on = new Set(query.get("with")?.split(","));
  const switches = SWITCHES.map((name) => [name, on.has(name)]);
  return {
    ...EMPTY_FORM,
    ...Object.fromEntries([...pairs, ...texts, ...switches]),
    outputs: query.getAll("out"),
    tags: query.getAll("tag"),
  };
}

/** The address's query of a form; undefined when it is too long for an address. */
export function writeForm(form: QueryForm): URLSearchParams | undefined {
  const query = new URLSearchParams();
  const typed = filled(form);
  for (const [name, part] of Object.entries(PAIRS)) for (const [key, text] of typed[part]) query.append(name, `${key}=${text}`);
  for (const output of typed.outputs) query.append("out", output);
  for (const tag of typed.tags) query.append("tag", tag);
  for (const [name, part] of Object.entries(TEXTS)) if (typed[part] !== "") query.append(name, typed[part]);
  const on = SWITCHES.filter((name) => typed[name]);
  if (on.length > 0) query.append("with", on.join(","));
  return query.toString().length > MOST_ADDRESS ? undefined : query;
}

/** The form without the rows in which nothing was typed, names without blanks around them. */
export function filled(form: QueryForm): QueryForm {
  const pairs = (all: readonly Pair[]) => all.map(([name, text]): Pair => [name.trim(), text]).filter(([name]) => name !== "");
  const words = (all: readonly string[]) => [...new Set(all.map((word) => word.trim()))].filter((word) => word !== "");
  return {
    ...form,
    inputs: pairs(form.inputs),
    staleness: pairs(form.staleness),
    plannerOptions: pairs(form.plannerOptions),
    context: pairs(form.context),
    outputs: words(form.outputs),
    tags: words(form.tags),
    now: form.now.trim(),
  };
}

/**
 * The request of a form, and a sentence for each text that is none of what it should be. One that
 * is `isBulk` may have no inputs: its rows bring them.
 */
export function requestOf(
  form: QueryForm,
  { isBulk = false }: { readonly isBulk?: boolean } = {},
): { readonly request: QueryRequestJson; readonly problems: readonly string[] } {
  const { inputs, outputs, staleness, plannerOptions, context, tags, now, ...rest } = filled(form);
  const problems = [...readPlannerOptions(Object.fromEntries(plannerOptions)).problems];
  if (inputs.length === 0 && !isBulk && rest.queryName === "") problems.push("Say what to query with: at least one input.");
  for (const [name] of repeated(inputs)) problems.push(`'${name}' is given more than one value; a query answers for one row.`);
  const ages = staleness.map(([feature, text]) => {
    const read = readStaleness(text);
    if (typeof read === "string") problems.push(`Stored values of '${feature}': expected ${read}.`);
    return [feature, read === Number.POSITIVE_INFINITY ? ANY_AGE : `${Number(read) / 1_000}s`] as const;
  });
  if (now !== "" && !isInstant(now)) problems.push("As of: expected a time with its zone, such as 2024-05-01T12:00:00Z.");
  if (rest.queryNameVersion !== "" && rest.queryName === "") problems.push("A version needs the name of a query.");
  return {
    problems,
    request: {
      inputs: inputs.map(([feature, text]) => ({ feature, text })),
      outputs: [...outputs],
      staleness: Object.fromEntries(ages),
      tags: [...tags],
      queryContext: Object.fromEntries(context.map(([name, text]) => [name, jsonValue(text)])),
      plannerOptions: Object.fromEntries(plannerOptions),
      queryName: rest.queryName,
      queryNameVersion: rest.queryNameVersion,
      correlationId: rest.correlationId,
      ...(now === "" || !isInstant(now) ? {} : { now: new Date(now).toISOString() }),
      explain: rest.explain,
      trace: rest.trace,
      storePlanStages: rest.stages,
      includeMeta: true,
    },
  };
}

/** Whether a text is a time with its zone, in ISO 8601. */
export function isInstant(text: string): boolean {
  return /^\d{4}-\d\d-\d\d[T ].*(Z|[+-]\d\d:?\d\d)$/i.test(text) && !Number.isNaN(Date.parse(text));
}

function repeated(pairs: readonly Pair[]): readonly Pair[] {
  return pairs.filter(([name], at) => pairs.findIndex(([other]) => other === name) < at);
}

function pairOf(text: string): Pair {
  const at = text.indexOf("=");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
