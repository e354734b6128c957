/** Why a Kafka broker did not tell of its cluster, from the errors of its client. */

import { plain } from "../web-answer.ts";
import type { KafkaAccess } from "./kafka-settings.ts";

/** What an error of the client may have; it may be wrapped in others. */
interface ClientError {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
  /** The name of an error of the protocol. */
  readonly apiId?: unknown;
  readonly serverErrorMessage?: unknown;
  readonly response?: { readonly mechanisms?: unknown };
}

/** Most errors in one another that are looked at. */
const MAX_DEPTH = 10;
const CLOSED = /^(Connection closed|ECONNRESET|EPIPE)/;
const CERTIFICATE = /CERT|SELF_SIGNED|ALTNAME|ISSUER|SIGNATURE/;

/** The reason as a phrase that follows the broker's address; never has a secret of the client. */
export function reasonOf(error: unknown, { usesTls, sasl }: KafkaAccess): string {
  const chain = chainOf(error);
  const codes = chain.map(({ code }) => String(code ?? ""));
  const protocol = chain.find(({ apiId }) => typeof apiId === "string");
  if (protocol?.apiId === "SASL_AUTHENTICATION_FAILED")
    return `refused the user '${plain(sasl?.username ?? "")}' by ${sasl?.mechanism}: ${plain(String(protocol.serverErrorMessage ?? "no reason was given"))}`;
  if (protocol?.apiId === "UNSUPPORTED_SASL_MECHANISM") {
    const offered = chain.map(({ response }) => response?.mechanisms).find(Array.isArray) ?? [];
    return `takes no ${sasl?.mechanism}; it takes ${plain(offered.join(", ")) || "none"}`;
  }
  if (protocol?.apiId === "ILLEGAL_SASL_STATE") return "takes no SASL";
  if (protocol) return `answered ${plain(String(protocol.apiId))}`;
  const certificate = codes.find((code) => CERTIFICATE.test(code));
  const last = chain.at(-1) ?? {};
  const words = plain(String(last.message ?? ""));
  if (certificate) return `has a certificate that is not trusted: ${words} (${certificate})`;
  if (words === "Broker requires TLS.") return "speaks TLS, and KAFKA_SECURITY_PROTOCOL says otherwise";
  if (/timed out/.test(words)) return "did not answer in time";
  if (usesTls && /TLS|SSL|secure/i.test(`${words} ${codes.join(" ")}`)) return `does not speak TLS as expected: ${words}`;
  if (CLOSED.test(words) || codes.some((code) => CLOSED.test(code)))
    return `ended the connection without an answer; it may want ${usesTls ? "" : "TLS, "}${sasl ? "another mechanism" : "SASL"}, or be no broker`;
  if (typeof last.code === "string" && /^E[A-Z_]+$/.test(last.code)) return `cannot be reached: ${words}`;
  return `answered as no broker of Kafka does: ${words}`;
}

/** An error and those that it was caused by, the outermost first. */
function chainOf(error: unknown): readonly ClientError[] {
  const chain: ClientError[] = [];
  for (let next: unknown = error; typeof next === "object" && next !== null && chain.length < MAX_DEPTH; ) {
    const one = next as ClientError;
    chain.push(one);
    next = one.cause ?? one.errors?.[0];
  }
  return chain;
}
