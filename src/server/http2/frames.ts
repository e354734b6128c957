/** Frames of HTTP/2 (RFC 9113): their kinds, flags and error codes, and how they are written. */

/** Kinds of frames. */
export const Kind = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

/** Flags of frames. */
export const Flag = { END_STREAM: 1, ACK: 1, END_HEADERS: 4, PADDED: 8, PRIORITY: 32 } as const;

/** Why a stream or a connection ends. */
export const ErrorCode = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  ENHANCE_YOUR_CALM: 11,
} as const;

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** Parameters of connections. */
export const Setting = {
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

/** What a client sends first. */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Bytes before a frame's payload. */
export const FRAME_HEAD = 9;
/** Longest payload that is taken and sent: the least that the other side has to take. */
export const MAX_PAYLOAD = 16_384;
/** Bytes of a stream or connection that may be sent before the other side gives room for more. */
export const DEFAULT_WINDOW = 65_535;
/** The greatest window. */
export const MAX_WINDOW = 2 ** 31 - 1;

/** Writes a frame's head at a place, and returns where its payload begins. */
export function putHead(bytes: Uint8Array, at: number, length: number, kind: number, flags: number, stream: number): number {
  bytes[at] = length >>> 16;
  bytes[at + 1] = length >>> 8;
  bytes[at + 2] = length;
  bytes[at + 3] = kind;
  bytes[at + 4] = flags;
  return putNumber(bytes, at + 5, stream);
}

/** Writes a number of four bytes, and returns the place after it. */
export function putNumber(bytes: Uint8Array, at: number, value: number): number {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
  return at + 4;
}

/** The number of four bytes at a place. */
export function numberAt(bytes: Uint8Array, at: number): number {
  return (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;
}

/** A frame. */
export function frame(kind: number, flags: number, stream: number, payload: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEAD + payload.length);
  bytes.set(payload, putHead(bytes, 0, payload.length, kind, flags, stream));
  return bytes;
}

/** A frame whose payload are numbers of four bytes. */
export function numbersFrame(kind: number, stream: number, ...numbers: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEAD + 4 * numbers.length);
  let at = putHead(bytes, 0, 4 * numbers.length, kind, 0, stream);
  for (const number of numbers) at = putNumber(bytes, at, number);
  return bytes;
}

/** A frame of parameters. */
export function settingsFrame(settings: readonly (readonly [setting: number, value: number])[]): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEAD + 6 * settings.length);
  let at = putHead(bytes, 0, 6 * settings.length, Kind.SETTINGS, 0, 0);
  for (const [setting, value] of settings) {
    bytes[at] = setting >>> 8;
    bytes[at + 1] = setting;
    at = putNumber(bytes, at + 2, value);
  }
  return bytes;
}
