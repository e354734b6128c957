/** The reasons for which a release is refused, with one code each. */

import { ReleaseFormatError } from "../domain/release/manifest.ts";
import { SignatureError } from "../domain/release/minisign.ts";
import { CliError } from "../errors/cli-error.ts";

/** Codes of the reasons. */
export type ReleaseCode =
  | "signature_malformed"
  | "signature_unknown_key"
  | "signature_wrong"
  | "release_no_key"
  | "release_no_source"
  | "release_insecure"
  | "release_unreachable"
  | "release_not_found"
  | "release_expired"
  | "release_downgrade"
  | "release_wrong_version"
  | "release_target_missing"
  | "release_too_old"
  | "release_too_large"
  | "release_checksum"
  | "release_damaged"
  | "release_does_not_run"
  | "no_previous_build"
  | "disk_full"
  | "directory_read_only"
  | "managed_install";

/** A refused release, or a refused build on disk. */
export class ReleaseError extends CliError {
  override readonly name = "ReleaseError";
  constructor(
    message: string,
    code: ReleaseCode,
    options: { readonly hint?: string; readonly details?: unknown; readonly cause?: unknown } = {},
  ) {
    super(message, { ...options, code });
  }
}

/** The error of a failed check with the name of the file; other errors are unchanged. */
export function withFileName(error: unknown, where: string): unknown {
  if (error instanceof SignatureError)
    return new ReleaseError(`${where} is not trusted: ${error.message}`, error.code, {
      hint: "Nothing was installed. Look for another place to get it from, and tell the people who make the releases.",
      cause: error,
    });
  if (error instanceof ReleaseFormatError)
    return new ReleaseError(`${where} cannot be read: ${error.message}`, "release_damaged", {
      hint: "It may have been made for a newer svc: the installer can replace this one.",
      cause: error,
    });
  return error;
}
