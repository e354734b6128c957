/** JSON-RPC 2.0, as far as all that speak it agree. */

/** The error codes of its specification. */
export const JSON_RPC_ERRORS = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
} as const;
