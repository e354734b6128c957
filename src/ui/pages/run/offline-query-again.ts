/** An offline query once more, as a form that can be changed. */

import type {
  OfflineQueryKeysJson,
  OfflineQueryOptionsJson,
  RetryOfflineQueryRequestJson,
} from "../../../../gen/svc/v1/offline_query_pb.ts";
import { isInstant } from "./query-form.ts";

/**
 * What can be otherwise in the next query, as text; lists are separated by commas. Outputs and
 * bounds that are empty stay as they were.
 */
export interface QueryAgainForm {
  readonly outputs: string;
  /** `all`, `none`, or features. */
  readonly recompute: string;
  /** Empty = one without a name. */
  readonly datasetName: string;
  readonly numShards: string;
  /** By id or tag; empty = the live one. */
  readonly deploymentId: string;
  /** Parts of the rows; empty = all, and none. */
  readonly sampleFraction: string;
  readonly testFraction: string;
  readonly storeOnline: boolean;
  readonly storeOffline: boolean;
  readonly asKnown: boolean;
  /** Of rows that are known: times as ISO 8601, and their most; empty = all. */
  readonly lowerBound: string;
  readonly upperBound: string;
  readonly maxSamples: string;
}

/** The form of a query as it was. */
export function queryAgainForm(options: OfflineQueryOptionsJson): QueryAgainForm {
  const { recompute = false, recomputeFeatures = [], sampleFraction = 0, testFraction = 0 } = options;
  const { lowerBound = "", upperBound = "", maxSamples = "0" } = options.keys ?? {};
  return {
    outputs: (options.outputs ?? []).join(", "),
    recompute: recompute ? "all" : recomputeFeatures.join(", ") || "none",
    datasetName: options.datasetName ?? "",
    numShards: String(options.numShards || 1),
    deploymentId: options.deploymentId ?? "",
    sampleFraction: sampleFraction === 0 ? "" : String(sampleFraction),
    testFraction: testFraction === 0 ? "" : String(testFraction),
    storeOnline: options.storeOnline ?? false,
    storeOffline: options.storeOffline ?? false,
    asKnown: options.asKnown ?? false,
    ...{ lowerBound, upperBound, maxSamples: maxSamples === "0" ? "" : maxSamples },
  };
}

/** The request of a form, or what of it cannot be asked. */
export function queryAgainRequest(
  id: string,
  options: OfflineQueryOptionsJson,
  form: QueryAgainForm,
): RetryOfflineQueryRequestJson | { readonly wrong: string } {
  if (changesOf(options, form).length === 0) return { id };
  const was = queryAgainForm(options);
  const noTime = [form.lowerBound, form.upperBound].find((text) => text.trim() !== "" && !isInstant(text.trim()));
  if (noTime !== undefined) return { wrong: `'${noTime}' is no time with its zone.` };
  const noCount = [form.numShards, form.maxSamples].find((text) => !/^\d{0,8}$/.test(text.trim()));
  if (noCount !== undefined) return { wrong: `'${noCount}' is no number of parts or rows.` };
  const noPart = [form.sampleFraction, form.testFraction].find((text) => !(Number(text) >= 0 && Number(text) < 1));
  if (noPart !== undefined) return { wrong: `'${noPart}' is no part: it is above 0 and below 1.` };
  const recompute = form.recompute.trim();
  const [lowerBound, upperBound] = [form.lowerBound.trim() || was.lowerBound, form.upperBound.trim() || was.upperBound];
  const keys: OfflineQueryKeysJson = {
    ...(lowerBound !== "" && { lowerBound: new Date(lowerBound).toISOString() }),
    ...(upperBound !== "" && { upperBound: new Date(upperBound).toISOString() }),
    maxSamples: form.maxSamples.trim() || "0",
  };
  return {
    id,
    options: {
      ...options,
      outputs: namesOf(form.outputs.trim() || was.outputs),
      recompute: recompute === "all",
      recomputeFeatures: recompute === "all" || recompute === "none" ? [] : namesOf(recompute),
      ...{ datasetName: form.datasetName.trim(), deploymentId: form.deploymentId.trim(), numShards: Number(form.numShards) || 1 },
      ...{ sampleFraction: Number(form.sampleFraction), testFraction: Number(form.testFraction) },
      ...{ storeOnline: form.storeOnline, storeOffline: form.storeOffline, asKnown: form.asKnown },
      ...(options.keys && { keys }),
    },
  };
}

/** The words of the command that does the same. */
export function queryAgainWords(id: string, options: OfflineQueryOptionsJson, form: QueryAgainForm): readonly string[] {
  return ["offline-query", "retry", id, ...changesOf(options, form)];
}

/** The flags of texts, and what stands for an empty one; undefined = it changes nothing. */
const TEXTS: readonly (readonly [name: keyof QueryAgainForm, flag: string, empty: string | undefined])[] = [
  ["outputs", "--out", undefined],
  ["recompute", "--recompute", "none"],
  ["datasetName", "--dataset", ""],
  ["numShards", "--num-shards", "1"],
  ["deploymentId", "--deployment", "live"],
  ["sampleFraction", "--sample", "0"],
  ["testFraction", "--test-fraction", "0"],
  ["lowerBound", "--lower-bound", undefined],
  ["upperBound", "--upper-bound", undefined],
  ["maxSamples", "--max-samples", "0"],
];
const SWITCHES = [
  ["storeOnline", "--store-online"],
  ["storeOffline", "--store-offline"],
  ["asKnown", "--as-known"],
] as const;

/** The flags of what differs from a query's options. */
function changesOf(options: OfflineQueryOptionsJson, form: QueryAgainForm): readonly string[] {
  const was = queryAgainForm(options);
  return [
    ...TEXTS.flatMap(([name, flag, empty]) => {
      const text = String(form[name]).trim();
      if (text === was[name] || (text === "" && empty === undefined)) return [];
      return [flag, text.replaceAll(/\s*,\s*/g, ",") || (empty ?? "")];
    }),
    ...SWITCHES.filter(([name]) => form[name] !== was[name]).map(([name, flag]) => `${flag}=${form[name]}`),
  ];
}

function namesOf(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
