/**
 * Messages as bytes, many in one piece: as the store of the server's topics keeps them, and as they
 * travel from the thread of the Kafka client. The layout, little-endian, for each message: length
 * of the key plus one (u32, 0 = none), of the value plus one (u32, 0 = none), number of headers
 * (u32), the key, the value; and for each header the length of its name (u32), of its value (u32),
 * both.
 */

import type { NewMessage, TopicMessage } from "./topics.ts";

/** The content of a message. */
export type MessageContent = Pick<TopicMessage, "key" | "value" | "headers">;

const LENGTH_BYTES = 4;
const HEAD_BYTES = 3 * LENGTH_BYTES;
const NO_HEADERS: TopicMessage["headers"] = [];
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Bytes of a message's key, value and headers. */
export function messageBytes({ key, value, headers = NO_HEADERS }: NewMessage): number {
  return headers.reduce(
    (sum, [name, content]) => sum + Buffer.byteLength(name) + content.length,
    (key?.length ?? 0) + (value?.length ?? 0),
  );
}

/** Encodes messages, of which there is at least one. */
export function encodeMessages(messages: readonly (MessageContent | NewMessage)[]): Uint8Array {
  const headers = messages.map((message) => (message.headers ?? NO_HEADERS).map(([name, value]) => [encoder.encode(name), value] as const));
  const size = messages.reduce(
    (sum, { key, value }, index) =>
      sum +
      HEAD_BYTES +
      (key?.length ?? 0) +
      (value?.length ?? 0) +
      (headers[index] ?? []).reduce((more, [name, content]) => more + 2 * LENGTH_BYTES + name.length + content.length, 0),
    0,
  );
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  const length = (value: number): void => {
    view.setUint32(at, value, true);
    at += LENGTH_BYTES;
  };
  const put = (part: Uint8Array | undefined): void => {
    if (part === undefined) return;
    bytes.set(part, at);
    at += part.length;
  };
  for (const [index, { key, value }] of messages.entries()) {
    const named = headers[index] ?? [];
    length(key === undefined ? 0 : key.length + 1);
    length(value === undefined ? 0 : value.length + 1);
    length(named.length);
    put(key);
    put(value);
    for (const [name, content] of named) {
      length(name.length);
      length(content.length);
      put(name);
      put(content);
    }
  }
  return bytes;
}

/** The messages of a frame; their bytes are parts of it. */
export function decodeMessages(frame: Uint8Array): MessageContent[] {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const messages: MessageContent[] = [];
  let at = 0;
  const length = (): number => {
    const value = view.getUint32(at, true);
    at += LENGTH_BYTES;
    return value;
  };
  const take = (size: number): Uint8Array => {
    if (at + size > frame.length) throw new RangeError(`a frame of messages ends after ${frame.length} bytes, in a message`);
    const part = frame.subarray(at, at + size);
    at += size;
    return part;
  };
  while (at < frame.length) {
    const [keySize, valueSize, count] = [length(), length(), length()];
    const key = keySize === 0 ? undefined : take(keySize - 1);
    const value = valueSize === 0 ? undefined : take(valueSize - 1);
    const headers = count === 0 ? NO_HEADERS : Array.from({ length: count }, () => readHeader(length, take));
    messages.push({ key, value, headers });
  }
  return messages;
}

function readHeader(length: () => number, take: (size: number) => Uint8Array): TopicMessage["headers"][number] {
  const [nameSize, valueSize] = [length(), length()];
  return [decoder.decode(take(nameSize)), take(valueSize)];
}
