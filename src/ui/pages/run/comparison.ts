/** Two answers to one query, side by side. */

import type { FeatureResultJson } from "../../../../gen/svc/v1/query_pb.ts";
import type { CallScope } from "../../api/call.ts";
import { plainOf } from "../../parts/proto-value.ts";

/** What an answer can be compared with. */
export const AGAINST = { branch: "A branch", deployment: "A deployment", run: "An earlier run" } as const;

/** What an answer is compared with: a branch (empty = the environment), a deployment or a run. */
export interface Against {
  readonly kind: keyof typeof AGAINST;
  readonly name: string;
}

/** The choice as the address has it, `branch:try`; undefined when it is none. */
export function readAgainst(text: string): Against | undefined {
  const at = text.indexOf(":");
  const kind = text.slice(0, Math.max(at, 0));
  return Object.hasOwn(AGAINST, kind) ? { kind: kind as Against["kind"], name: text.slice(at + 1) } : undefined;
}

/** The scope that the other answer is asked for in; undefined for a run, which has its answer. */
export function otherScope({ kind, name }: Against, { environment }: CallScope): CallScope | undefined {
  if (kind === "run") return undefined;
  return { environment, branch: kind === "branch" ? name : "", deployment: kind === "deployment" ? name : "" };
}

/** A feature's value in one answer. */
export type ComparedCell = { readonly value: unknown } | { readonly failed: string } | { readonly isAbsent: true };

/** A feature in two answers. */
export interface ComparedRow {
  readonly field: string;
  readonly left: ComparedCell;
  readonly right: ComparedCell;
  readonly differs: boolean;
}

const ABSENT: ComparedCell = { isAbsent: true };

/** The features of two answers, those of the left one first. */
export function compared(left: readonly FeatureResultJson[], right: readonly FeatureResultJson[]): ComparedRow[] {
  const cells = [left, right].map((all) => new Map(all.map((one) => [one.field ?? "", cellOf(one)])));
  const fields = [...new Set([...left, ...right].map(({ field = "" }) => field))];
  return fields.map((field) => {
    const [one = ABSENT, other = ABSENT] = cells.map((all) => all.get(field) ?? ABSENT);
    return { field, left: one, right: other, differs: JSON.stringify(one) !== JSON.stringify(other) };
  });
}

function cellOf({ error, value }: FeatureResultJson): ComparedCell {
  return error ? { failed: error.message ?? "failed" } : { value: plainOf(value) };
}
