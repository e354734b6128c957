/** The runtime's network errors in words. */

const WORDS: Readonly<Record<string, string>> = {
  ConnectionRefused: "connection refused",
  ECONNREFUSED: "connection refused",
  ConnectionClosed: "the connection was closed",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed",
  FailedToOpenSocket: "no connection could be opened",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the name could not be looked up",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ETIMEDOUT: "no answer in time",
  Timeout: "no answer in time",
  TimeoutError: "no answer in time",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its TLS certificate cannot be verified",
  SELF_SIGNED_CERT_IN_CHAIN: "its TLS certificate is self-signed",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its TLS certificate is self-signed",
  CERT_HAS_EXPIRED: "its TLS certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its TLS certificate is for another host",
};

/**
 * The cause of a failure to reach a server, in words, found in the error and its causes; undefined
 * for other failures.
 */
export function networkFailure(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code = "code" in at && typeof at.code === "string" ? at.code : at.name;
    if (Object.hasOwn(WORDS, code)) return WORDS[code];
  }
  return undefined;
}
