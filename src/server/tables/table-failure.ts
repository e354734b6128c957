/** Failures of the database process as errors of the table engine. */

import { dirname } from "node:path";
import { isFull } from "../../disk/disk-error.ts";
import { ChildEnded } from "../thread/child-process.ts";
import { TableError } from "./engine.ts";

/** What was being done. */
export interface FailureContext {
  /** The file. */
  readonly path: string;
  /** Whether it is a caller's, which may be damaged. */
  readonly isInput?: boolean;
}

/** Whether a call failed because its process died. */
export function isChildEnded(error: unknown): boolean {
  return error instanceof ChildEnded && !error.isMemory;
}

/** Whether a statement failed because the engine's memory did not suffice. Its process lives on. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && /^Out of Memory Error/.test(error.message);
}

/** The error of the table engine for one of its database process. */
export function tableFailure(error: unknown, { path, isInput = false }: FailureContext): unknown {
  if (error instanceof TableError) return error;
  if (error instanceof ChildEnded) return new TableError(error.isMemory ? "exhausted" : "failed", error.message);
  if (!(error instanceof Error)) return error;
  const message = plainMessage(error.message);
  if (isOutOfMemory(error)) return new TableError("exhausted", `the table engine ran out of memory: ${message}`);
  if (/no space left/i.test(message) || isFull(dirname(path)))
    return new TableError("failed", `cannot write ${path}: no space left on the device`);
  if (
    isInput &&
    /^(Invalid Input|IO|Conversion|Binder|Serialization|Invalid) Error|^Error: |CSV|JSON|Parquet|magic bytes|utf-?8/i.test(error.message)
  )
    return new TableError("damaged", `${path} cannot be read: ${message}`);
  return new TableError("failed", `${path}: ${message}`);
}

/** The library's message without the kind in front of it. */
export function plainMessage(message: string): string {
  return message.replace(/^[A-Z][A-Za-z ]* Error: /, "").trim();
}
