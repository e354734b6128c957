/**
 * States of sketches: their kind, what the sketch writes, and a checksum of all of it, so that a
 * state that was cut or changed is refused, never read as another one.
 */

import { DamagedState, StateReader, StateWriter } from "../expressions/state-bytes.ts";
import { decodeStored, encodeStored, type FeatureValue } from "../value.ts";
import { hash32 } from "./hash.ts";

/** The kinds of states by the byte that they have; a number never changes. */
export const SKETCH_KINDS = { distinct: 1, quantiles: 2, heavyHitters: 3, extremeRows: 4 } as const;

type Kind = (typeof SKETCH_KINDS)[keyof typeof SKETCH_KINDS];

const VERSION = 1;
const CHECKSUM_BYTES = 4;
const CHECKSUM_SEED = 0x5eed;

/** A state of a kind, to be written and then sealed. */
export function stateOf(kind: Kind): StateWriter {
  return new StateWriter(VERSION).byte(kind);
}

/** The state with its checksum. Throws EvaluationError when it is too long to be kept. */
export function sealed(writer: StateWriter): Uint8Array {
  const body = writer.done();
  const bytes = new Uint8Array(body.length + CHECKSUM_BYTES);
  bytes.set(body);
  new DataView(bytes.buffer).setUint32(body.length, hash32(body, CHECKSUM_SEED), true);
  return bytes;
}

/** The state that was sealed. Throws DamagedState. */
export function opened(kind: Kind, bytes: Uint8Array): StateReader {
  const length = bytes.length - CHECKSUM_BYTES;
  if (length < 2) throw new DamagedState(`${bytes.length} bytes are no state`);
  const checksum = new DataView(bytes.buffer, bytes.byteOffset + length, CHECKSUM_BYTES).getUint32(0, true);
  const body = bytes.subarray(0, length);
  if (hash32(body, CHECKSUM_SEED) !== checksum) throw new DamagedState("the bytes of a state do not have its checksum");
  const reader = new StateReader(body, VERSION);
  const found = reader.byte();
  if (found !== kind) throw new DamagedState(`a state of kind ${found} is none of kind ${kind}`);
  return reader;
}

/** Writes a value so that it is read again exactly. */
export function writeValue(writer: StateWriter, value: FeatureValue): void {
  writer.bytes(new TextEncoder().encode(encodeStored(value)));
}

/** The value that was written. Throws DamagedState. */
export function readValue(reader: StateReader): FeatureValue {
  const bytes = reader.bytes();
  try {
    return decodeStored(new TextDecoder().decode(bytes));
  } catch {
    throw new DamagedState("a value of a state is none");
  }
}
