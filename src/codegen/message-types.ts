/** Types of messages as schemas define them: what models in Python are generated of. */

/** The type of a field. */
export type FieldType =
  /** A type of Python, such as `int`, or `datetime` of a module of the standard library. */
  | { readonly kind: "plain"; readonly python: string }
  /** A message or an enum, by its full name. */
  | { readonly kind: "named"; readonly name: string }
  | { readonly kind: "list"; readonly item: FieldType }
  | { readonly kind: "map"; readonly key: FieldType; readonly value: FieldType }
  | { readonly kind: "nullable"; readonly of: FieldType }
  | { readonly kind: "union"; readonly of: readonly FieldType[] };

/** A field of a message. */
export interface MessageField {
  readonly name: string;
  /** Another name for it in JSON; undefined = the same. */
  readonly jsonName: string | undefined;
  readonly type: FieldType;
  /**
   * Whether it has to be given; else its default is None, or with `zero` the empty value of its
   * type.
   */
  readonly presence: "required" | "optional" | "zero";
  readonly description: string;
}

/** A message. */
export interface MessageType {
  readonly kind: "message";
  /** With its package and the messages around it, by dots. */
  readonly name: string;
  readonly fields: readonly MessageField[];
  readonly description: string;
}

/** An enum. */
export interface MessageEnum {
  readonly kind: "enum";
  readonly name: string;
  /** Texts, or whole numbers. */
  readonly members: readonly { readonly name: string; readonly value: number | string }[];
  readonly description: string;
}

/** A definition of a schema. */
export type MessageDefinition = MessageType | MessageEnum;

/** A schema that cannot be read; the message says where and why. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}
