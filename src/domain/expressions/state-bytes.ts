/** The bytes of accumulators' states: a version, then fields in the order of their code. */

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { ValueSchema } from "../../../gen/svc/v1/value_pb.ts";
import { fromProtoValue, toProtoValue } from "../proto-value.ts";
import type { FeatureValue } from "../value.ts";
import { EvaluationError } from "./evaluation-error.ts";

/** Bytes of a state at most, unless its writer says otherwise; longer ones cannot be kept. */
export const MAX_STATE_BYTES = 64 * 1024;

/** The error of bytes that no accumulator of the kind wrote. */
export class DamagedState extends Error {
  override readonly name = "DamagedState";
}

/** Writes a state. */
export class StateWriter {
  #bytes = new Uint8Array(32);
  #length = 0;

  constructor(
    version: number,
    readonly mostBytes = MAX_STATE_BYTES,
  ) {
    this.byte(version);
  }

  /** Bytes that were written. */
  get length(): number {
    return this.#length;
  }

  byte(value: number): this {
    this.#room(1);
    this.#bytes[this.#length++] = value;
    return this;
  }

  /** A whole number from zero, of any size. */
  natural(value: number | bigint): this {
    if (typeof value === "number" && value < 2 ** 31) {
      let small = value;
      for (; small >= 128; small >>>= 7) this.byte((small & 127) | 128);
      return this.byte(small);
    }
    let rest = BigInt(value);
    for (; rest >= 128n; rest >>= 7n) this.byte(Number(rest & 127n) | 128);
    return this.byte(Number(rest));
  }

  /** A whole number of any size. */
  integer(value: number | bigint): this {
    const exact = BigInt(value);
    return this.natural(exact < 0n ? (-exact << 1n) - 1n : exact << 1n);
  }

  float(value: number): this {
    this.#room(8);
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true);
    this.#length += 8;
    return this;
  }

  bytes(value: Uint8Array): this {
    this.natural(value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  /** A value of a feature, of any type. */
  value(value: FeatureValue): this {
    return this.bytes(toBinary(ValueSchema, toProtoValue(value)));
  }

  /** The state. Throws EvaluationError when it is too long to be kept. */
  done(): Uint8Array {
    if (this.#length > this.mostBytes)
      throw new EvaluationError(`the state of the aggregate is larger than ${this.mostBytes / 1024} KiB; aggregate shorter values`);
    return this.#bytes.slice(0, this.#length);
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + bytes));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

/** Reads what StateWriter wrote. Throws DamagedState on other bytes. */
export class StateReader {
  #at = 0;

  constructor(
    readonly source: Uint8Array,
    version: number,
  ) {
    const found = this.byte();
    if (found !== version) throw new DamagedState(`the state has version ${found}, and version ${version} is known`);
  }

  byte(): number {
    const value = this.source[this.#at++];
    if (value === undefined) throw new DamagedState("the state is cut off");
    return value;
  }

  natural(): bigint {
    const from = this.#at;
    while (this.byte() >= 128);
    let value = 0n;
    for (let at = this.#at - 1; at >= from; at--) value = (value << 7n) | BigInt((this.source[at] as number) & 127);
    return value;
  }

  /** A whole number that is safe as a number, from zero. */
  count(): number {
    const from = this.#at;
    let small = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte();
      small |= (byte & 127) << shift;
      if (byte < 128) return small;
    }
    this.#at = from;
    const value = Number(this.natural());
    if (!Number.isSafeInteger(value)) throw new DamagedState("a count of the state is too large");
    return value;
  }

  integer(): bigint {
    const folded = this.natural();
    return (folded & 1n) === 1n ? -((folded + 1n) >> 1n) : folded >> 1n;
  }

  float(): number {
    const from = this.#at;
    this.#at += 8;
    if (this.#at > this.source.length) throw new DamagedState("the state is cut off");
    return new DataView(this.source.buffer, this.source.byteOffset + from, 8).getFloat64(0, true);
  }

  bytes(): Uint8Array {
    const length = this.count();
    if (this.#at + length > this.source.length) throw new DamagedState("the state is cut off");
    this.#at += length;
    return this.source.subarray(this.#at - length, this.#at);
  }

  value(): FeatureValue {
    const encoded = this.bytes();
    try {
      return fromProtoValue(fromBinary(ValueSchema, encoded));
    } catch {
      throw new DamagedState("a value of the state cannot be read");
    }
  }

  /** Ends the reading: nothing may follow. */
  end(): void {
    if (this.#at !== this.source.length) throw new DamagedState("the state is too long");
  }
}
