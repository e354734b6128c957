/** The errors of an answer, each once, with the features that it concerns. */

import type { ErrorDetailJson } from "../../../../gen/svc/v1/error_pb.ts";
import { readableName } from "../../../domain/name.ts";

/** An error, in the parts that are shown. */
export interface ShownError {
  readonly features: readonly string[];
  readonly message: string;
  /** The exception in a line; empty when the message says it, or there is none. */
  readonly raised: string;
  readonly code: string;
  readonly resolver: string;
  /** `file:line`; empty when unknown. */
  readonly place: string;
  readonly stack: string;
  readonly hint: string;
}

interface Failing {
  readonly field?: string;
  readonly error?: ErrorDetailJson;
}

/** The errors of features and those beside them; those that say the same are one. */
export function shownErrors(data: readonly Failing[], errors: readonly ErrorDetailJson[]): readonly ShownError[] {
  const all = [
    ...data.flatMap(({ field = "", error }) => (error ? [{ field, error }] : [])),
    ...errors.map((error) => ({ field: "", error })),
  ];
  const known = new Map<string, ShownError>();
  for (const { error, field } of all) {
    const feature = readableName(field || (error.feature ?? ""));
    const shown = shownError(error);
    const key = JSON.stringify(shown);
    const before = known.get(key)?.features ?? [];
    known.set(key, { ...shown, features: feature === "" ? before : [...new Set([...before, feature])] });
  }
  return [...known.values()];
}

function shownError({ code, message = "", exception, resolver = "", hint = "", span }: ErrorDetailJson): ShownError {
  const { file = span?.file ?? "", kind = "", line = span?.line ?? 0, message: said = "", stacktrace = "" } = exception ?? {};
  const raised = said === "" ? kind : `${kind}: ${said}`;
  const isSaid = raised === "" || message.includes(said || raised);
  return {
    features: [],
    message: message || raised,
    raised: isSaid || message === "" ? "" : raised,
    code: (code ?? "").replace("ERROR_CODE_", "").toLowerCase().replaceAll("_", " "),
    resolver,
    place: file === "" ? "" : line > 0 ? `${file}:${line}` : file,
    stack: stacktrace.trimEnd(),
    hint,
  };
}
