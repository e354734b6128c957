/** Schemas of the contract's messages in JSON, as Connect reads and writes them. */

import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { methodsOf } from "../../../contract/contract.ts";
import { SERVICES } from "../../../contract/services.ts";

/** A schema of JSON Schema 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;

/** Schemas by the names of their messages, and those that were asked for on the way. */
export class MessageSchemas {
  readonly schemas: Record<string, Schema> = {};

  /** A reference to the schema of a message. */
  of(message: DescMessage): Schema {
    const known = WELL_KNOWN[message.typeName];
    if (known) return known;
    if (!(message.typeName in this.schemas)) {
      const properties: Record<string, Schema> = {};
      this.schemas[message.typeName] = { type: "object", properties };
      for (const field of message.fields) properties[field.jsonName] = this.#field(field);
    }
    return { $ref: `#/components/schemas/${message.typeName}` };
  }

  #field(field: DescField): Schema {
    switch (field.fieldKind) {
      case "scalar":
        return scalar(field.scalar);
      case "enum":
        return enumeration(field.enum);
      case "message":
        return this.of(field.message);
      case "list": {
        const items =
          field.listKind === "scalar" ? scalar(field.scalar) : field.listKind === "enum" ? enumeration(field.enum) : this.of(field.message);
        return { type: "array", items };
      }
      default: {
        const values =
          field.mapKind === "scalar" ? scalar(field.scalar) : field.mapKind === "enum" ? enumeration(field.enum) : this.of(field.message);
        return { type: "object", additionalProperties: values };
      }
    }
  }
}

const WELL_KNOWN: Readonly<Record<string, Schema>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": { type: "string", pattern: "^-?[0-9]+(\\.[0-9]+)?s$" },
  "google.protobuf.FieldMask": { type: "string" },
  "google.protobuf.Struct": { type: "object" },
  "google.protobuf.ListValue": { type: "array" },
  "google.protobuf.Value": {},
  "google.protobuf.Any": { type: "object" },
};

const LONG: Schema = { type: ["string", "integer"], format: "int64" };
const NUMBER: Schema = { type: ["number", "string"], format: "double" };

function scalar(type: ScalarType): Schema {
  switch (type) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return NUMBER;
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return LONG;
    default:
      return { type: "integer", format: "int32" };
  }
}

function enumeration({ values }: DescEnum): Schema {
  return { anyOf: [{ type: "string", enum: values.map(({ name }) => name) }, { type: "integer" }] };
}

/** The paths of all unary methods, over Connect with JSON. */
export function methodPaths(schemas: MessageSchemas, answers: Schema): Record<string, Schema> {
  const paths: Record<string, Schema> = {};
  for (const { typeName } of Object.values(SERVICES))
    for (const { input, isPublic, methodKind, name, output } of methodsOf(typeName)) {
      if (methodKind !== "unary") continue;
      paths[`/${typeName}/${name}`] = {
        post: {
          operationId: `${typeName}.${name}`,
          tags: [typeName],
          ...(isPublic ? { security: [] } : {}),
          requestBody: { required: true, content: { "application/json": { schema: schemas.of(input) } } },
          responses: {
            200: { description: "The response.", content: { "application/json": { schema: schemas.of(output) } } },
            default: answers,
          },
        },
      };
    }
  return paths;
}
