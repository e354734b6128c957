/**
 * Which methods are audited, and which fields of their requests a row tells: derived from the
 * contract.
 */

import { type DescField, type DescMessage, type DescMethod, getOption, type Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Permission, permission } from "../../../gen/svc/v1/options_pb.ts";

/**
 * Whether calls of a method have rows: those that change something or run somebody's functions, and
 * those that give out secrets. Queries have a log of their own.
 */
export function isAudited(method: DescMethod): boolean {
  if (method.parent.typeName === "svc.v1.QueryService") return false;
  const needed = getOption(method, permission);
  return needed === Permission.SECRETS_READ || method.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

/** The endpoint of a method in rows: `svc.v1.AuthService/DeleteClient`. */
export function endpointName({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

const IDS = /(?:^|_)ids?$/;
const NAMES = /(?:^|_)(?:ids?|names?|sha256|permissions?|roles?|branch|environments?|kind|namespace|features|resolver|tags|priority)$/;
const DEPTH = 2;

/**
 * The paths of the fields of a method's requests that rows tell, such as `webhook.name`: ids,
 * names, features that are meant, and permissions that are granted. Fields with secrets are never
 * told; of methods that handle secrets, ids alone.
 */
export function auditedFields(method: DescMethod): string[] {
  const needed = getOption(method, permission);
  const pattern = needed === Permission.SECRETS_READ || needed === Permission.SECRETS_WRITE ? IDS : NAMES;
  return fieldsOf(method.input, pattern, DEPTH);
}

function fieldsOf(type: DescMessage, pattern: RegExp, depth: number): string[] {
  return type.fields.flatMap((field) => {
    if (field.proto.options?.debugRedact) return [];
    if (field.fieldKind === "message" && depth > 1 && field.message.typeName.startsWith("svc."))
      return fieldsOf(field.message, pattern, depth - 1).map((path) => `${field.name}.${path}`);
    return isTellable(field) && pattern.test(field.name) ? [field.name] : [];
  });
}

function isTellable(field: DescField): boolean {
  return field.fieldKind === "scalar" || field.fieldKind === "enum" || (field.fieldKind === "list" && field.listKind !== "message");
}

const MOST_VALUES = 20;
const MOST_CHARACTERS = 200;

/** The values of audited fields of a request, without those that are not set. */
export function aboutOf(type: DescMessage, message: Message, paths: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    paths.flatMap((path) => {
      const value = valueAt(type, message, path.split("."));
      return value === undefined ? [] : [[path, value] as const];
    }),
  );
}

function valueAt(type: DescMessage, message: Message, [name, ...rest]: readonly string[]): unknown {
  const field = type.fields.find((one) => one.name === name);
  if (!field) return undefined;
  const read = reflect(type, message);
  if (!read.isSet(field)) return undefined;
  if (field.fieldKind === "message") return valueAt(field.message, read.get(field).message, rest);
  if (field.fieldKind === "list") return [...read.get(field)].slice(0, MOST_VALUES).map((value) => told(field, value));
  return told(field, read.get(field));
}

function told(field: DescField, value: unknown): unknown {
  if (field.enum) return field.enum.value[Number(value)]?.name ?? String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex").slice(0, MOST_CHARACTERS);
  return typeof value === "string" || typeof value === "bigint" ? String(value).slice(0, MOST_CHARACTERS) : value;
}
