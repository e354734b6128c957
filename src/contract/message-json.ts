/**
 * Messages as the documents of `--json`, by one rule, so that the output of commands and the
 * contract cannot differ:
 *
 * - A key is the field's name in the contract; `next_page_token` is `next_cursor`, and absent at
 *   the end of a list.
 * - A value of an enum is its name without the prefix, in lower case: `not_configured`. Null when
 *   it is unspecified.
 * - A time is RFC 3339 in UTC with microseconds, a duration is in the notation of flags (`1h30m`),
 *   a feature's value is plain JSON.
 * - 64-bit integers are bigints, which `output/json.ts` writes as numbers up to 2^53 and as text
 *   beyond, and bytes are base64.
 * - A field that is not set is null; of a oneof, the case that is set has its own name as key and
 *   the others are absent.
 * - A field marked `debug_redact` is left out.
 */

import type { DescField, DescMessage, DescOneof, Message } from "@bufbuild/protobuf";
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import type { Value } from "../../gen/svc/v1/value_pb.ts";
import { formatDuration } from "../domain/duration.ts";
import { durationToMs, timestampToMicros } from "../domain/proto-time.ts";
import { fromProtoValue } from "../domain/proto-value.ts";
import { formatMicros } from "../domain/timestamp.ts";
import { toPlainJson } from "../domain/value.ts";
import { formatEnum, messageNamed } from "./contract.ts";

/** A member of a message: a field, or a oneof by its own name. */
export type MemberOf<M> = Exclude<keyof M, `$${string}`> & string;

/**
 * An exception of a member from the rule: it is left out (`false`), null when it is empty (`null`),
 * or has another value or another key. A secret is shown only by an exception that gives its value.
 */
export type JsonException<M> =
  | false
  | null
  | ((message: M) => unknown)
  | { readonly key: string; readonly value?: (message: M) => unknown };

/** The exceptions of a message's members from the rule. */
export type JsonExceptions<M> = { readonly [K in MemberOf<M>]?: JsonException<M> | undefined };

/** The JSON document of a message. Other properties of the object are left out. */
export function messageJson<M extends Message>(message: M, exceptions: JsonExceptions<M> = {}): Record<string, unknown> {
  const { members } = messageNamed(message.$typeName);
  return Object.fromEntries(members.flatMap((member) => entries(member, message, exceptions[member.localName as MemberOf<M>])));
}

function entries<M extends Message>(
  member: DescField | DescOneof,
  message: M,
  exception: JsonException<M> | undefined,
): (readonly [key: string, value: unknown])[] {
  if (exception === false) return [];
  if (typeof exception === "function") return [[keyOf(member), exception(message)]];
  if (exception?.value) return [[exception.key, exception.value(message)]];
  return ruled(member, message)
    .filter(({ field, value }) => !isSecret(field) && !(isCursor(field) && value === ""))
    .map(({ field, value }) => [exception?.key ?? keyOf(field), exception === null && isEmpty(value) ? null : value] as const);
}

/** The fields and values of a member that the rule shows: of a oneof, the field that is set. */
function ruled(member: DescField | DescOneof, message: Message): { readonly field: DescField; readonly value: unknown }[] {
  const given = (message as unknown as Readonly<Record<string, unknown>>)[member.localName];
  if (member.kind === "field") return [{ field: member, value: fieldJson(member, given) }];
  const { case: name, value } = given as { readonly case: string | undefined; readonly value?: unknown };
  const field = member.fields.find(({ localName }) => localName === name);
  return field ? [{ field, value: fieldJson(field, value) }] : [];
}

function fieldJson(field: DescField, value: unknown): unknown {
  if (value === undefined) return null;
  if (field.fieldKind === "list") return (value as readonly unknown[]).map((item) => valueJson(field, item));
  if (field.fieldKind !== "map") return valueJson(field, value);
  return Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, valueJson(field, item)]));
}

function valueJson(
  field: { readonly message?: DescMessage | undefined; readonly enum?: { readonly typeName: string } | undefined },
  value: unknown,
) {
  if (field.enum) return formatEnum(field.enum.typeName, value as number);
  switch (field.message?.typeName) {
    case undefined:
      return value;
    case "google.protobuf.Timestamp":
      return formatMicros(timestampToMicros(value as Timestamp));
    case "google.protobuf.Duration":
      return formatDuration(durationToMs(value as Duration));
    case "svc.v1.Value":
      return toPlainJson(fromProtoValue(value as Value));
    default:
      return messageJson(value as Message);
  }
}

function keyOf(member: DescField | DescOneof): string {
  if (member.kind === "field" && isCursor(member)) return "next_cursor";
  return member.kind === "field" ? member.name : member.localName.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const isCursor = (field: DescField): boolean => field.name === "next_page_token";
const isSecret = (field: DescField): boolean => field.proto.options?.debugRedact === true;
const isEmpty = (value: unknown): boolean => value === "" || value === 0 || (Array.isArray(value) && value.length === 0);
