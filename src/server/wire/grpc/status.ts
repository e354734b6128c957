/**
 * Errors of calls as gRPC tells them: a status in trailers, with details in the form of
 * google.rpc.Status.
 */

import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { type Field, headerBlock } from "../../http2/hpack.ts";

/** Codes by their names in Connect's errors; the number is the index. */
const CODES = [
  "ok",
  "canceled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
];

/** An error as Connect writes it in JSON. */
export interface CallError {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

/** The trailers of a call that succeeded. */
export const OK_TRAILERS: Uint8Array = headerBlock([["grpc-status", "0"]]);

/**
 * Most bytes of a message, and of all details: clients take headers of 8 KiB, in which base64 and
 * escapes need more room.
 */
const MAX_MESSAGE = 1_024;
const MAX_DETAILS = 3_072;

/** The trailers of a call that failed. Of details that are too long the first ones are told. */
export function errorTrailers({ code, message, details }: CallError): Field[] {
  const status = Math.max(CODES.indexOf(String(code)), 0) || CODES.indexOf("unknown");
  const text = typeof message === "string" ? clipped(message) : "";
  const told = detailsIn(details);
  const fields: Field[] = [
    ["grpc-status", String(status)],
    ["grpc-message", encodeURI(text)],
  ];
  if (told.length > 0) fields.push(["grpc-status-details-bin", statusBytes(status, text, told)]);
  return fields;
}

interface Detail {
  readonly type: string;
  readonly value: Uint8Array;
}

function detailsIn(details: unknown): Detail[] {
  if (!Array.isArray(details)) return [];
  let room = MAX_DETAILS;
  return details.flatMap((one: { type?: unknown; value?: unknown }) => {
    if (typeof one.type !== "string" || typeof one.value !== "string") return [];
    const value = Buffer.from(one.value, "base64");
    room -= value.length + one.type.length;
    return room < 0 ? [] : [{ type: one.type, value }];
  });
}

/** google.rpc.Status in base64. */
function statusBytes(status: number, message: string, details: readonly Detail[]): string {
  const writer = new BinaryWriter().tag(1, 0).int32(status).tag(2, 2).string(message);
  for (const { type, value } of details)
    writer.tag(3, 2).fork().tag(1, 2).string(`type.googleapis.com/${type}`).tag(2, 2).bytes(value).join();
  return Buffer.from(writer.finish()).toString("base64").replace(/=+$/, "");
}

/** A text of at most so many characters, without half of one at its end. */
function clipped(text: string): string {
  return text.toWellFormed().slice(0, MAX_MESSAGE).toWellFormed();
}
