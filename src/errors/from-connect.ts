/** Connect errors that no client code translated, for example from a server called in-process. */

import type { ConnectError } from "@connectrpc/connect";
import { ErrorCode, ErrorDetailSchema } from "../../gen/svc/v1/error_pb.ts";
import { AuthError, CliError } from "./cli-error.ts";
import { networkFailure } from "./network.ts";

/** Names of the Connect codes, by number. */
const CODES: Readonly<Record<number, string>> = {
  1: "canceled",
  2: "unknown",
  3: "invalid_argument",
  4: "deadline_exceeded",
  5: "not_found",
  6: "already_exists",
  7: "permission_denied",
  8: "resource_exhausted",
  9: "failed_precondition",
  10: "aborted",
  11: "out_of_range",
  12: "unimplemented",
  13: "internal",
  14: "unavailable",
  15: "data_loss",
  16: "unauthenticated",
};

/** Whether an error is a Connect error, decided without loading its package. */
export function isConnectError(error: unknown): error is ConnectError {
  return error instanceof Error && error.name === "ConnectError" && "rawMessage" in error && "findDetails" in error;
}

/** The error for the user. `tried` names the address that was called. */
export function fromConnect(error: ConnectError, tried = "the API server"): CliError {
  const detail = error.findDetails(ErrorDetailSchema)[0];
  const reason = detail?.message || error.rawMessage;
  const code = CODES[error.code] ?? "unknown";
  const unreachable = networkFailure(error.cause);
  if (code === "unavailable" || unreachable) {
    return new CliError(`cannot reach ${tried}: ${unreachable ?? reason}`, {
      code: "unavailable",
      hint: detail?.hint || "Start a server with `svc server start`, or name another one with --api-host.",
      cause: error,
    });
  }
  if (code === "unauthenticated") {
    return new AuthError(`${tried} did not accept the credentials${reason ? `: ${reason}` : ""}`, { cause: error });
  }
  return new CliError(reason || code.replaceAll("_", " "), {
    code: detail && detail.code !== ErrorCode.UNSPECIFIED ? ErrorCode[detail.code].toLowerCase() : code,
    hint: detail?.hint || undefined,
    details: detail ? { feature: detail.feature || undefined, resolver: detail.resolver || undefined } : undefined,
    cause: error,
  });
}
