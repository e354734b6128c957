/** What an op is given for a row, and whether it can run for it at all. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { readableName } from "../../../domain/name.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { absentArgument } from "../graph/parameter-index.ts";
import type { Plan, PlanFrame, PlanInput, PlanOp, PlanSlot } from "../plan/plan.ts";
import { type CellFailure, CellState, type Cells } from "../run/cells.ts";
import { firstFailure } from "../run/child-rows.ts";
import type { QueryTime } from "../run/query-time.ts";

/** Whether an op runs for a row: yes, no because an optional row is missing, or no because an input failed. */
export type OpVerdict = "run" | "absent" | { readonly input: string; readonly failure: CellFailure };

interface Running {
  readonly plan: Plan;
  readonly rows: number;
  readonly cells: Cells;
  timeOf(row: number): QueryTime;
}

/** Looks at an op's settled inputs. Parameters that take null never stop it. */
export function verdictOf({ plan, rows, cells }: Running, op: PlanOp, row: number): OpVerdict {
  const frame = plan.frames[op.frame] as PlanFrame;
  for (const { slot, parameter, nullable, needs } of op.inputs) {
    if (slot < 0) continue;
    const cell = slot * rows + row;
    const state = cells.state[cell];
    if (needs && state === CellState.OK && !parameter.optional) {
      const failure = firstFailure(cells.rowsAt.get(cell), needs);
      if (failure) return { input: failure.path, failure };
    }
    if (state === CellState.OK && (op.kind !== "join" || cells.values[cell] !== null)) continue;
    const { path } = plan.slots[slot] as PlanSlot;
    if (state === CellState.FAILED) {
      if (!parameter.optional) return { input: path, failure: cells.failures[cell] as CellFailure };
    } else if (op.kind === "join") {
      if (frame.optional) return "absent";
      return { input: path, failure: noRow(path, `${frame.path} has no row, because ${path} is null and the relation is not optional`) };
    } else if (!parameter.optional && !nullable) {
      if (frame.optional) return "absent";
      return { input: path, failure: noRow(path, `${path} has no row`) };
    }
  }
  return "run";
}

function noRow(path: string, message: string): CellFailure {
  return { code: ErrorCode.UPSTREAM_FAILED, message, path, resolver: "" };
}

/** The value of an argument for a row that the op runs for. */
export function argumentOf(running: Running, input: PlanInput, row: number): FeatureValue {
  if (input.parameter.now) return running.timeOf(row).text;
  const { rows, cells } = running;
  if (input.slot < 0) return absentArgument(input.parameter);
  const cell = input.slot * rows + row;
  const value = cells.state[cell] === CellState.OK ? (cells.values[cell] as FeatureValue) : null;
  return value === null ? absentArgument(input.parameter) : value;
}

/** What a feature fails with when an input of it failed. */
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
