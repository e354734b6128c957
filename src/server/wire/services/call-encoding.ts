/**
 * Compression of calls: unary calls of Connect compress the body as a whole; streams and gRPC-web
 * compress each message in its envelope.
 */

import type { DescMessage } from "@bufbuild/protobuf";
import { type Compression, compressedFlag, type UniversalHandler, type UniversalHandlerFn } from "@connectrpc/connect/protocol";
import { type BodyOptions, inflateBody, readBody } from "../http/body.ts";
import { compress, ENCODINGS, encodingOf } from "../http/content-encoding.ts";
import { ENVELOPE_BYTES } from "./call-body.ts";

/** Headers that name the encoding of messages in envelopes. */
const MESSAGE_ENCODINGS = ["connect-content-encoding", "grpc-encoding"];

/** Headers that name the encodings that a caller accepts. */
const ACCEPTED_ENCODINGS = ["accept-encoding", "connect-accept-encoding", "grpc-accept-encoding"];

/**
 * Reads and inflates the body of a call that was authorized, and removes the headers that name its
 * encoding, so that handlers never inflate anything. Only the first message in envelopes is
 * inflated; bytes after it stay as they are. Throws BodyRefused.
 */
export async function readCallBody(request: Request, maxBytes: number, options: BodyOptions): Promise<Uint8Array> {
  const body = await readBody(request, maxBytes, options);
  if (!options.inflates) return body;
  const header = MESSAGE_ENCODINGS.find((name) => request.headers.has(name));
  const encoding = header && encodingOf(request.headers.get(header) ?? "");
  if (!encoding) return body;
  request.headers.delete(header);
  const flags = body[0] ?? 0;
  if (body.length < ENVELOPE_BYTES || (flags & compressedFlag) === 0) return body;
  const end = ENVELOPE_BYTES + new DataView(body.buffer, body.byteOffset).getUint32(1);
  const compressed = new Blob([body.subarray(ENVELOPE_BYTES, end)]).stream();
  const message = await inflateBody(compressed, encoding, maxBytes, options);
  const rest = body.subarray(end);
  const plain = new Uint8Array(ENVELOPE_BYTES + message.length + rest.length);
  plain[0] = flags & ~compressedFlag;
  new DataView(plain.buffer).setUint32(1, message.length);
  plain.set(message, ENVELOPE_BYTES);
  plain.set(rest, ENVELOPE_BYTES + message.length);
  return plain;
}

/** The compressions that handlers may apply to answers. */
export const COMPRESSIONS: readonly Compression[] = ENCODINGS.map((name) => ({
  name,
  compress: (bytes) => compress(bytes, name),
  decompress: () => Promise.reject(new Error("bodies are inflated before they are handled")),
}));

/** A handler that never compresses its answer, whatever encodings the caller accepts. */
export function uncompressed(handler: UniversalHandler): UniversalHandler {
  const handle: UniversalHandlerFn = (request) => {
    const header = new Headers(request.header);
    for (const name of ACCEPTED_ENCODINGS) header.delete(name);
    return handler({ ...request, header });
  };
  return Object.assign(handle, handler);
}

/** Whether messages of a type can have a secret, which the contract marks with `debug_redact`. */
export function hasSecret(type: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(type)) return false;
  seen.add(type);
  return type.fields.some((field) => field.proto.options?.debugRedact || (field.message !== undefined && hasSecret(field.message, seen)));
}
