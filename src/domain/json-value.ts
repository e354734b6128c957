/** JSON values as data. */

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. Its members are own properties, whatever their names. */
export interface JsonObject {
  readonly [name: string]: Json;
}

/** Whether a value is an object, and neither null nor a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The member of an object; undefined when it has none of that name, even where all objects inherit
 * one.
 */
export function member(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** An object of members in their order. A member `__proto__` is one like any other. */
export function jsonObject(members: Iterable<readonly [name: string, value: Json]>): JsonObject {
  const object = {};
  for (const [name, value] of members) Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  return object;
}

/** A copy of an object without a member. */
export function withoutMember(object: JsonObject, name: string): JsonObject {
  return jsonObject(Object.entries(object).filter(([other]) => other !== name));
}

/**
 * Whether two values are equal as RFC 6902 compares them: objects without regard to the order of
 * their members.
 */
export function equalsJson(one: Json, other: Json): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => equalsJson(item, other[index]));
  if (!isJsonObject(one) || !isJsonObject(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && equalsJson(one[name] as Json, other[name] as Json))
  );
}

/**
 * A value that was read from YAML as JSON. Throws RangeError, which says where, for a number that
 * JSON would not keep: infinite, or too great to be exact.
 */
export function asJson(value: unknown, at = ""): Json {
  if (Array.isArray(value)) return value.map((item, index) => asJson(item, `${at}[${index}]`));
  if (isJsonObject(value))
    return jsonObject(Object.entries(value).map(([name, inner]) => [name, asJson(inner, at === "" ? name : `${at}.${name}`)]));
  if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value)))
    throw new RangeError(`${at || "the value"}: the number ${value} would not be kept exactly; write it as text, in quotes`);
  return value as Json;
}
