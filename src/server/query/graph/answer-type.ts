/** Types of features in answers. */

import { create, toBinary } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";

/**
 * The type of a feature in answers, where enumerations have the type of their values. Made on first
 * use, and cached with its feature.
 */
export class AnswerType {
  #type: DataType | undefined;
  #bytes: Uint8Array | undefined;

  /** @param dtype the feature's own type */
  constructor(readonly dtype: DataType) {}

  get type(): DataType {
    this.#type ??= withoutEnums(this.dtype);
    return this.#type;
  }

  /** The bytes of its message. */
  get bytes(): Uint8Array {
    this.#bytes ??= toBinary(DataTypeSchema, this.type);
    return this.#bytes;
  }
}

function withoutEnums(type: DataType): DataType {
  const { kind } = type;
  switch (kind.case) {
    case "enum":
      return create(DataTypeSchema, { kind: { case: "primitive", value: kind.value.base } });
    case "list":
      return create(DataTypeSchema, {
        kind: { case: "list", value: { ...kind.value, element: withoutEnums(kind.value.element as DataType) } },
      });
    case "struct": {
      const fields = kind.value.fields.map((field) => ({ ...field, dtype: withoutEnums(field.dtype as DataType) }));
      return create(DataTypeSchema, { kind: { case: "struct", value: { ...kind.value, fields } } });
    }
    default:
      return type;
  }
}
