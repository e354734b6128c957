/** The plan of a query's rows, and the check of their values. */

import { Failure } from "../failure.ts";
import type { OnlineEngine } from "../query/create-engine.ts";
import type { LiveDeployment } from "../query/live-deployment.ts";
import { QueryRefused } from "../query/refusal.ts";
import { BadGiven } from "../query/request/given.ts";
import type { SpineRequest, SpineRun } from "../query/spine/spine-run.ts";
import type { OfflineQueryRequest } from "../stores/metadata/offline-queries.ts";
import type { SourceChunk, SpineSource } from "./spine-source.ts";

/** What the plan depends on. */
type PlannedRequest = Pick<
  OfflineQueryRequest,
  "outputs" | "requiredOutputs" | "recompute" | "tags" | "plannerOptions" | "splitBy" | "testFraction"
> &
  Pick<SpineRequest, "operation" | "queryName" | "queryNameVersion" | "resourceGroup" | "tracing"> & {
    readonly rows: { readonly from: string };
  };

/** Names of columns of an answer beside features. */
export const TIME_COLUMN = "__ts__";
export const OBSERVED_AT_COLUMN = "__observed_at__";

/**
 * Plans the rows of a query; where they are not given, their column is the key of the outputs'
 * class. Throws Failure.
 */
export function planSpine(engine: OnlineEngine, deployment: LiveDeployment, request: PlannedRequest, names: readonly string[]): SpineRun {
  const { outputs, requiredOutputs, recompute, tags, queryName, queryNameVersion, plannerOptions, operation, resourceGroup, tracing } =
    request;
  const plan = (inputs: readonly string[]): SpineRun =>
    engine.runSpine(deployment, {
      inputs,
      outputs,
      requiredOutputs,
      recompute,
      tags,
      queryName,
      queryNameVersion,
      plannerOptions,
      operation,
      resourceGroup,
      tracing,
    });
  try {
    const run = plan(request.rows.from === "keys" ? [keyOfOutputs(engine, deployment, request)] : names);
    if (request.testFraction > 0 && request.splitBy === "key" && !run.inputs.some(({ isKey }) => isKey))
      throw new Failure("invalid_argument", "Rows without a primary key cannot be divided by key.", { hint: "Divide them by time." });
    return run;
  } catch (error) {
    if (!(error instanceof QueryRefused)) throw error;
    throw new Failure("invalid_argument", sentence(error.message));
  }
}

/** The primary key of the one class that all outputs are of. Throws Failure and QueryRefused. */
function keyOfOutputs(engine: OnlineEngine, deployment: LiveDeployment, { outputs, queryName, queryNameVersion }: PlannedRequest): string {
  const roots = engine.rootsOf(deployment, { outputs, queryName, queryNameVersion });
  const [root] = roots;
  if (!root || roots.length > 1)
    throw new Failure("invalid_argument", `The outputs are of ${roots.length} classes, so their rows have to be given.`, {
      hint: "Give the rows with the keys of each class, or ask for the features of one class.",
    });
  if (!root.primaryKey) throw new Failure("invalid_argument", `The rows of ${root.className} have no primary key by which they are known.`);
  return root.primaryKey.fqn;
}

/** Most errors of rows that are told. */
const TOLD = 5;

/** The values of a chunk by the inputs of a run. Throws Failure invalid_argument for wrong ones. */
export function readValues(run: SpineRun, chunk: SourceChunk, before: number): unknown[][] {
  const wrong: string[] = [];
  let count = 0;
  const columns = run.inputs.map((input, at) => {
    const read = chunk.columns[at];
    return Array.from({ length: chunk.rows }, (_, row) => {
      try {
        const value = read ? input.read(read(row)) : null;
        if (value === null && input.isKey) throw new BadGiven(input.path, `${input.path}: the key is missing`);
        return value;
      } catch (error) {
        if (!(error instanceof BadGiven)) throw error;
        if (count++ < TOLD) wrong.push(`row ${before + row + 1}, ${error.message}`);
        return null;
      }
    });
  });
  if (count === 0) return columns;
  const more = count > TOLD ? `; and ${count - TOLD} more` : "";
  throw new Failure("invalid_argument", sentence(`${wrong.join("; ")}${more}`));
}

/**
 * Rows whose values are checked before a query is begun; those of longer files when they are read.
 */
const CHECKED_ROWS = 100_000;

/** Checks the values and times of the first rows. Throws Failure invalid_argument. */
export async function checkRows(run: SpineRun, source: SpineSource): Promise<void> {
  let before = 0;
  for await (const chunk of source.chunks(new AbortController().signal)) {
    readValues(run, chunk, before);
    for (let row = 0; row < chunk.rows; row++) chunk.time?.(row);
    before += chunk.rows;
    if (before >= CHECKED_ROWS) return;
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}
