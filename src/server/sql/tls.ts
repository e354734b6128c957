/** TLS of connections to database servers, by the modes of libpq. */

import type { TLSOptions } from "bun";
import { SqlError } from "./source.ts";

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

/** How a connection is encrypted, and what is checked of the server's certificate. */
export type TlsMode = (typeof MODES)[number];

/** Reads a mode. Throws SqlError that names the variable and the modes. */
export function tlsMode(source: string, variable: string, text: string): TlsMode {
  const mode = MODES.find((one) => one === text.toLowerCase());
  if (!mode) throw new SqlError(`source '${source}': ${variable} is '${text}', which is none of ${MODES.join(", ")}`);
  return mode;
}

/**
 * The driver's options for a mode. Modes that verify do so whatever `NODE_TLS_REJECT_UNAUTHORIZED`
 * says.
 * @param rootCertificate file with the authorities to trust; undefined = the system's
 */
export function tlsOptions(mode: TlsMode, rootCertificate: string | undefined): TLSOptions | TlsMode {
  if (mode !== "verify-ca" && mode !== "verify-full") return mode;
  return { rejectUnauthorized: true, ...(rootCertificate === undefined ? {} : { ca: Bun.file(rootCertificate) }) };
}
