/**
 * Uploaded values of features with checks that are functions of the project, whose workers are
 * asked about them.
 */

import { BrokenRule } from "../../domain/validations.ts";
import { describeValue } from "../../domain/value.ts";
import type { Lease } from "../deployments/running.ts";
import { Failure } from "../failure.ts";
import { CHECKS_OF, type PythonPool } from "../python/pool.ts";
import type { Problems, TypedRows } from "./typed-rows.ts";

/** Values of a call. */
const CALL_VALUES = 10_000;
const CALL_MS = 120_000;

/**
 * Adds the values that break strict checks to the problems. Rejects with Failure unavailable when
 * the workers cannot be asked.
 * @param names names of the columns
 * @param offset rows of the upload that came before
 */
export async function checkValues(
  workers: () => Lease | Promise<Lease>,
  typed: readonly TypedRows[],
  { names, offset }: { readonly names: readonly string[]; readonly offset: number },
  problems: Problems,
): Promise<void> {
  const checked = typed.flatMap(({ columns }) => columns.filter(({ feature }) => feature.hasStrictCheck));
  if (checked.length === 0) return;
  const lease = await workers();
  try {
    for (const { feature, values, column } of checked)
      for (let from = 0; from < values.length && !problems.isFull; from += CALL_VALUES) {
        const part = values.slice(from, from + CALL_VALUES);
        for (const [row, rule] of await brokenValues(lease.deployment.pool, feature.fqn, part)) {
          const { message } = new BrokenRule(`${feature.typeName} with ${rule}`, describeValue(part[row]));
          problems.add({ row: offset + from + row + 1, column: names[column] as string, message });
        }
      }
  } finally {
    lease.release();
  }
}

async function brokenValues(pool: PythonPool, fqn: string, values: TypedRows["columns"][number]["values"]) {
  const { broken, errors } = await pool.call({
    ...{ resolver: `${CHECKS_OF}${fqn}`, rows: values.length, columns: { value: values }, now: [], deadlineMs: CALL_MS },
    context: { queryId: "", traceId: "", tags: [], queryContext: {} },
  });
  if (errors[0])
    throw new Failure("unavailable", `The uploaded values could not be checked: ${errors[0].message}.`, {
      hint: "Nothing was uploaded.",
    });
  return broken?.[fqn] ?? [];
}
