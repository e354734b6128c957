/** Inputs of an op for a row: its arguments, and whether it can run at all. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { readableName } from "../../../domain/name.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { absentArgument } from "../graph/parameter-index.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanInput, PlanOp } from "../plan/plan.ts";
import { type CellFailure, CellState } from "./cells.ts";
import { firstFailure } from "./child-rows.ts";
import type { Run } from "./run.ts";

/**
 * Whether an op runs for a row: yes, no because an optional row is missing, or no because an input
 * failed.
 */
export type OpVerdict = "run" | "absent" | { readonly input: string; readonly failure: CellFailure };

/** Looks at the settled inputs of an op that computes. Parameters that take null never stop it. */
export function verdictOf({ plan, cells }: Run, op: PlanOp, row: Row): OpVerdict {
  for (const { slot, parameter, nullable, needs } of op.inputs) {
    if (slot === undefined) continue;
    const cell = cells.at(slot, row);
    const state = cells.state(cell);
    if (needs && state === CellState.OK && !parameter.optional) {
      const failure = firstFailure(cells.childRows(cell), needs);
      if (failure) return { input: failure.path, failure };
    }
    if (state === CellState.OK || parameter.optional) continue;
    const { path } = plan.slot(slot);
    if (state === CellState.FAILED) return { input: path, failure: cells.failure(cell) as CellFailure };
    if (nullable) continue;
    if (plan.frame(op.frame).optional) return "absent";
    return { input: path, failure: missingRowFailure(path, `${path} has no row`) };
  }
  return "run";
}

/** The failure of a value whose row does not exist where one must. */
export function missingRowFailure(path: string, message: string): CellFailure {
  return { code: ErrorCode.UPSTREAM_FAILED, message, path, resolver: "" };
}

/** The value of an argument for a row that the op runs for. */
export function argumentOf(run: Run, input: PlanInput, row: Row): FeatureValue {
  if (input.parameter.constant) return input.parameter.constant.value;
  if (input.parameter.now) return run.timeOf(row).text;
  const { cells } = run;
  if (input.slot === undefined) return absentArgument(input.parameter);
  const cell = cells.at(input.slot, row);
  const value = cells.isOk(cell) ? cells.value(cell) : null;
  return value === null ? absentArgument(input.parameter) : value;
}

/** The failure of a feature of which an input failed. */
export function upstreamFailure(path: string, input: string, cause: CellFailure | undefined): CellFailure {
  let root = cause;
  while (root?.cause) root = root.cause;
  const why = root ? `: ${root.message}` : "";
  return {
    code: ErrorCode.UPSTREAM_FAILED,
    message: `${readableName(path)} needs ${readableName(input)}, which failed${why}`,
    path,
    resolver: "",
    cause,
  };
}
