/** Keys of rows, compared by value. */

import { PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { identity } from "../../../domain/expressions/compare.ts";
import { canonicalDecimal } from "../../../domain/expressions/decimal.ts";
import { type FeatureValue, primitiveOf } from "../../../domain/value.ts";
import type { SqlType } from "../../sql/source.ts";
import type { ScalarInfo } from "../graph/index-types.ts";

/**
 * A function to the text of a key that equal keys share and different keys do not: numbers are
 * equal by value, UUIDs in any text form, texts only when identical.
 * @param types of the columns that the key is compared with, where they are a database's
 */
export function keyTextOf(features: readonly ScalarInfo[], types: readonly (SqlType | undefined)[] = []): (key: FeatureValue[]) => string {
  const forms = features.map((feature, position) => formOf(feature, types[position]));
  if (forms.every((form) => form === undefined)) return identity;
  return (key) => identity(key.map((value, position) => (typeof value === "string" ? (forms[position]?.(value) ?? value) : value)));
}

/**
 * The conversion of a text to the canonical one of its equals; undefined = each text is equal to
 * itself only.
 */
function formOf({ dtype }: ScalarInfo, type: SqlType | undefined): ((text: string) => string) | undefined {
  const base = primitiveOf(dtype);
  if (base === PrimitiveType.DECIMAL) return canonicalDecimal;
  return base === PrimitiveType.STRING && type?.kind === "uuid" ? (text) => text.replace(/[{}-]/g, "").toLowerCase() : undefined;
}
