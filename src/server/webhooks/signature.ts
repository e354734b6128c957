/**
 * Signatures of deliveries as Standard Webhooks has them: HMAC-SHA256 over id, time and body, so
 * that a receiver knows who sent them and that they are not those of another time.
 */

import { createHmac } from "node:crypto";
import { Failure } from "../failure.ts";

const PREFIX = "whsec_";
const MAX_LENGTH = 1_024;

/**
 * The key of a secret: the bytes behind `whsec_`, which are base64, or those of any other text.
 * Throws Failure invalid_argument.
 */
export function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  if (secret.length > MAX_LENGTH || /[\r\n\0]/.test(secret))
    throw new Failure("invalid_argument", `A webhook's secret is one line of at most ${MAX_LENGTH} characters.`);
  if (!secret.startsWith(PREFIX)) return new TextEncoder().encode(secret);
  try {
    const key = Uint8Array.fromBase64(secret.slice(PREFIX.length));
    if (key.length > 0) return key;
  } catch {
    // The same as an empty key.
  }
  throw new Failure("invalid_argument", `The webhook's secret begins with ${PREFIX}, and what follows is not base64.`, {
    hint: `For example: echo "${PREFIX}$(openssl rand -base64 32)"`,
  });
}

/**
 * The headers that identify and sign a delivery.
 * @param delivery.id the idempotency key
 * @param delivery.at time of the attempt, epoch milliseconds
 * @param secret undefined = not signed
 */
export function signedHeaders(
  { id, at, body }: { readonly id: string; readonly at: number; readonly body: string },
  secret: string | undefined,
): Record<string, string> {
  const timestamp = String(Math.floor(at / 1_000));
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp };
  if (secret === undefined) return headers;
  const signature = createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { ...headers, "webhook-signature": `v1,${signature}` };
}
