/** Checks of the bodies of calls before they are decoded, in the form of each protocol. */

import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressedFlag } from "@connectrpc/connect/protocol";
import { parseContentType as connectForm } from "@connectrpc/connect/protocol-connect";
import { parseContentType as grpcWebForm } from "@connectrpc/connect/protocol-grpc-web";
import { checkJsonFields } from "../http/json-fields.ts";
import { JsonRefused, jsonText } from "../http/json-text.ts";
import { checkMessage, MessageRefused } from "../http/message-check.ts";

/** Bytes before a message in an envelope: its flags (1) and its length (4). */
export const ENVELOPE_BYTES = 5;

/**
 * Checks a body by its content type, which is parsed by the functions that the handlers use: if the
 * two differed, a body could get past the check. A content type that no handler knows is left to
 * the handler, which refuses it. Throws ConnectError INVALID_ARGUMENT.
 */
export function checkCallBody(type: DescMessage, contentType: string, body: Uint8Array): void {
  const connect = connectForm(contentType);
  const form = connect ?? grpcWebForm(contentType);
  if (!form) return;
  const check = form.binary
    ? (bytes: Uint8Array) => checkMessage(type, bytes)
    : (bytes: Uint8Array) => checkJsonFields(type, jsonText(bytes).text);
  try {
    if (connect?.stream === false) check(body);
    else for (const message of enveloped(body)) check(message);
  } catch (error) {
    throw invalidArgument(error);
  }
}

/**
 * Checks the bytes of a message that a field holds, which the check of the body took for any bytes.
 * Throws ConnectError INVALID_ARGUMENT.
 */
export function checkEncoded(type: DescMessage, bytes: Uint8Array): void {
  try {
    checkMessage(type, bytes);
  } catch (error) {
    throw invalidArgument(error);
  }
}

/** A refused body as a ConnectError INVALID_ARGUMENT; other errors are returned as they are. */
export function invalidArgument(error: unknown): unknown {
  return error instanceof MessageRefused || error instanceof JsonRefused ? new ConnectError(error.message, Code.InvalidArgument) : error;
}

function* enveloped(body: Uint8Array): Iterable<Uint8Array> {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  for (let at = 0; at + ENVELOPE_BYTES <= body.length; ) {
    if ((body[at] ?? 0) & compressedFlag)
      throw new ConnectError("a message is compressed in a way that is not known here", Code.Unimplemented);
    const from = at + ENVELOPE_BYTES;
    at = from + view.getUint32(at + 1);
    yield body.subarray(from, Math.min(at, body.length));
  }
}
