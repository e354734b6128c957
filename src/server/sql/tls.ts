/** TLS of connections to database servers, by the modes of libpq. */

import type { TLSOptions } from "bun";
import { SqlError } from "./source.ts";

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

/**
 * A libpq `sslmode`: whether a connection is encrypted, and how the server's certificate is
 * verified.
 */
export type TlsMode = (typeof MODES)[number];

/** Reads a mode. Throws SqlError that names the variable and the modes. */
export function tlsMode(source: string, variable: string, text: string): TlsMode {
  const mode = MODES.find((one) => one === text.toLowerCase());
  if (!mode) throw new SqlError(`source '${source}': ${variable} is '${text}', which is none of ${MODES.join(", ")}`);
  return mode;
}

/**
 * The driver's options for a mode. Verifying modes ignore `NODE_TLS_REJECT_UNAUTHORIZED`.
 * @param rootCertificate PEM file with trusted certificate authorities; undefined = the system's
 */
export function tlsOptions(mode: TlsMode, rootCertificate: string | undefined): TLSOptions | TlsMode {
  if (mode !== "verify-ca" && mode !== "verify-full") return mode;
  return { rejectUnauthorized: true, ...(rootCertificate === undefined ? {} : { ca: Bun.file(rootCertificate) }) };
}
