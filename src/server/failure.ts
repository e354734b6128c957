/**
 * Failures that the server means: each knows the Connect code it is answered with. Everything else
 * that is thrown is a fault of the server.
 */

import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import { isOutOfSpace } from "../disk/disk-error.ts";

/** The Connect codes that the server's own rules use, in their wire spelling. */
export type FailureKind =
  | "invalid_argument"
  | "not_found"
  | "already_exists"
  | "aborted"
  | "permission_denied"
  | "resource_exhausted"
  | "out_of_space"
  | "failed_precondition"
  | "unimplemented"
  | "unavailable"
  | "suspended"
  | "deadline_exceeded"
  | "unauthenticated";

/** What a failure tells beside its message. */
export interface FailureDetail {
  /** The next step. */
  readonly hint?: string;
  /** Findings, when they are the reason. */
  readonly diagnostics?: readonly Diagnostic[];
}

/** A refusal with its Connect code and a message for the user. */
export class Failure extends Error {
  override readonly name = "Failure";
  constructor(
    readonly kind: FailureKind,
    message: string,
    readonly detail: FailureDetail = {},
  ) {
    super(message);
  }
}

/** Why a call ended whose caller had no more time. */
export function deadlinePassed(): Failure {
  return new Failure("deadline_exceeded", "The caller's deadline passed before the answer was there.");
}

/** Whether that is why a signal ended. */
export function isDeadlinePassed(reason: unknown): boolean {
  return reason instanceof Failure && reason.kind === "deadline_exceeded";
}

/**
 * What a caller is told when the disk had no room for what was to be kept in a folder; undefined
 * when the error is another.
 */
export function outOfSpace(error: unknown, folder: string): Failure | undefined {
  if (!isOutOfSpace(error)) return undefined;
  return new Failure("out_of_space", `No space is left on the device of ${folder}: nothing was kept.`, {
    hint: "Make room there and try again; the server runs on and need not be started again.",
  });
}

/** Why a server did not start, for the command that wanted it. */
export type StartErrorCode =
  | "locked"
  | "port_in_use"
  | "host_refused"
  | "certificate_unusable"
  | "newer_schema"
  | "data_unusable"
  | "data_damaged"
  | "data_missing"
  | "setting_invalid"
  | "releases_unusable";

/** The server could not start: what is in the way and what to do. Nothing was changed. */
export class StartError extends Error {
  override readonly name = "StartError";
  constructor(
    readonly code: StartErrorCode,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}
