/** Messages in envelopes, as gRPC and the streams of Connect have them: flags, length, message. */

import { ENVELOPE_BYTES } from "../services/call-body.ts";

/** A message in its envelope. */
export interface Envelope {
  readonly flags: number;
  /** The message alone. */
  readonly message: Uint8Array;
  /** Envelope and message. */
  readonly whole: Uint8Array;
}

/** An envelope whose message is longer than it may be. */
export class EnvelopeTooLong extends Error {
  override readonly name = "EnvelopeTooLong";
}

/**
 * The envelopes in a stream of bytes; the last one is left out when it is cut. Rejects with
 * EnvelopeTooLong.
 */
export async function* envelopes(chunks: AsyncIterable<Uint8Array>, maxBytes = Number.POSITIVE_INFINITY): AsyncGenerator<Envelope> {
  let held: Uint8Array = new Uint8Array(0);
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= ENVELOPE_BYTES) {
      const length = messageLength(held);
      if (length > maxBytes) throw new EnvelopeTooLong(`A message is longer than ${maxBytes} bytes, the most that is read here.`);
      const end = ENVELOPE_BYTES + length;
      if (held.length < end) break;
      yield { flags: held[0] ?? 0, message: held.subarray(ENVELOPE_BYTES, end), whole: held.subarray(0, end) };
      held = held.subarray(end);
    }
  }
}

/** Length of the message whose envelope begins these bytes. */
export function messageLength(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
}

/** A message in an envelope. */
export function enveloped(flags: number, message: Uint8Array): Uint8Array {
  const whole = Buffer.allocUnsafe(ENVELOPE_BYTES + message.length);
  whole[0] = flags;
  whole.writeUInt32BE(message.length, 1);
  whole.set(message, ENVELOPE_BYTES);
  return whole;
}
