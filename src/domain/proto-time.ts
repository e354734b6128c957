/**
 * Instants and lengths of time on the wire (`google.protobuf.Timestamp` and `Duration`) and in
 * code.
 */

import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";

/** Seconds of the largest Duration, which stands for "never expires". */
export const NEVER_EXPIRES_SECONDS = 315_576_000_000n;

/** The instant that lies a number of microseconds after 1970 in UTC. */
export function microsToTimestamp(micros: bigint): Timestamp {
  const seconds = floorDivide(micros, 1_000_000n);
  return { $typeName: "google.protobuf.Timestamp", seconds, nanos: Number(micros - seconds * 1_000_000n) * 1000 };
}

/** The instant of an epoch time in milliseconds, whose fraction is kept to the microsecond. */
export function msToTimestamp(ms: number): Timestamp {
  return microsToTimestamp(BigInt(Math.round(ms * 1000)));
}

/** Microseconds since 1970 of an instant; what lies below a microsecond is dropped. */
export function timestampToMicros(timestamp: Timestamp): bigint {
  return timestamp.seconds * 1_000_000n + BigInt(Math.floor(timestamp.nanos / 1000));
}

/** Epoch milliseconds of an instant, with their fraction. */
export function timestampToMs({ seconds, nanos }: Timestamp): number {
  return Number(seconds) * 1000 + nanos / 1e6;
}

/** A length of time from microseconds. Seconds and nanoseconds have the same sign. */
export function microsToDuration(micros: bigint): Duration {
  const seconds = micros / 1_000_000n;
  return { $typeName: "google.protobuf.Duration", seconds, nanos: Number(micros - seconds * 1_000_000n) * 1000 };
}

/** Microseconds of a length of time; what lies below a microsecond is dropped. */
export function durationToMicros(duration: Duration): bigint {
  return duration.seconds * 1_000_000n + BigInt(Math.trunc(duration.nanos / 1000));
}

/** Milliseconds of a length of time; Infinity for "never expires". */
export function durationToMs(duration: Duration): number {
  if (duration.seconds >= NEVER_EXPIRES_SECONDS) return Number.POSITIVE_INFINITY;
  return Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}

/**
 * A length of time from milliseconds, kept to the microsecond; Infinity becomes "never expires".
 */
export function msToDuration(ms: number): Duration {
  if (ms === Number.POSITIVE_INFINITY) return { $typeName: "google.protobuf.Duration", seconds: NEVER_EXPIRES_SECONDS, nanos: 0 };
  return microsToDuration(BigInt(Math.round(ms * 1000)));
}

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}
