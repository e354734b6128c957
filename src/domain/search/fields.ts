/**
 * What a search can name: the fields of one kind of record (log lines, queries, traces, errors).
 * Whoever has such records states their fields; the grammar is the same for all.
 */

import { didYouMean } from "../closest.ts";

/**
 * The kind of a field's values. `name`: a text that is equal or not, in its case, such as an id;
 * `text`: prose, of which a part is searched in either case; `number`; `duration`, in milliseconds;
 * `size`, in bytes; `enum`: one of `values`, in their order.
 */
export type FieldKind = "name" | "text" | "number" | "duration" | "size" | "enum";

/** A field. */
export interface Field {
  readonly kind: FieldKind;
  /** What it holds: lower case, no final dot. */
  readonly meaning: string;
  /** Values of an `enum`, from the least to the greatest. */
  readonly values?: readonly string[];
  /** Other words for values of an `enum`. */
  readonly synonyms?: Readonly<Record<string, string>>;
  /** Other names of the field. */
  readonly aliases?: readonly string[];
  /** Names of the fields that are meant together, if not itself: it fits when one of them does. */
  readonly of?: readonly string[];
}

/** The fields of one kind of record. */
export interface FieldSet {
  /** By name. */
  readonly fields: Readonly<Record<string, Field>>;
  /** Names of the fields in which words without a field are searched. */
  readonly words: readonly string[];
  /** What stands before the names of attributes, which are searched as `name`s: `attributes.`. */
  readonly attributes?: string;
}

/** A field that was found by what somebody wrote. */
export interface FoundField extends Field {
  readonly name: string;
}

/** The field of a name or alias in any case; undefined = there is none. */
export function findField({ fields, attributes }: FieldSet, written: string): FoundField | undefined {
  const wanted = written.toLowerCase().replaceAll("-", "_");
  for (const [name, field] of Object.entries(fields)) if (name === wanted || field.aliases?.includes(wanted)) return { name, ...field };
  return attributes && wanted.startsWith(attributes) && wanted.length > attributes.length
    ? { name: attributes + written.slice(attributes.length), kind: "name", meaning: "an attribute" }
    : undefined;
}

/** The sentence about a field that does not exist: the closest names, or else all. */
export function unknownField(set: FieldSet, written: string): string {
  const names = Object.keys(set.fields);
  const hint = didYouMean(written, names) || `the fields are ${names.join(", ")}`;
  return `there is no field '${written}'; ${hint}`;
}
