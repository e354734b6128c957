/** Merging specs: objects by key, lists by the names of their items, and null removes. */

import { equalsJson, isJsonObject, type Json, type JsonObject, jsonObject, member } from "../../domain/json-value.ts";

/** A spec with the keys of another, which win. */
export function mergeSpec(base: JsonObject, over: JsonObject): JsonObject {
  const members = new Map<string, Json>(Object.entries(base));
  for (const [name, value] of Object.entries(over)) {
    if (value === null) members.delete(name);
    else members.set(name, mergeValue(member(base, name), value));
  }
  return jsonObject(members);
}

/** The least spec that gives `spec` when it is merged into `base`, of which nothing is removed. */
export function beyond(base: JsonObject, spec: JsonObject): JsonObject {
  return jsonObject(
    Object.entries(spec).flatMap(([name, value]): [string, Json][] => {
      const known = member(base, name);
      if (known === undefined) return [[name, value]];
      const rest = valueBeyond(known, value);
      return rest === undefined ? [] : [[name, rest]];
    }),
  );
}

function mergeValue(base: Json | undefined, over: Json): Json {
  if (isJsonObject(over)) return mergeSpec(base !== undefined && isJsonObject(base) ? base : {}, over);
  if (!isNamedList(over)) return over;
  const known = base !== undefined && isNamedList(base) ? base : [];
  const merged = known.map((item) => {
    const change = over.find(({ name }) => name === item.name);
    return change ? mergeSpec(item, change) : item;
  });
  return [...merged, ...over.filter(({ name }) => known.every((item) => item.name !== name)).map((item) => mergeSpec({}, item))];
}

function valueBeyond(base: Json, value: Json): Json | undefined {
  if (equalsJson(base, value)) return undefined;
  if (isJsonObject(base) && isJsonObject(value)) {
    const rest = beyond(base, value);
    return Object.keys(rest).length === 0 ? undefined : rest;
  }
  if (!isNamedList(base) || !isNamedList(value)) return value;
  const rest = value.flatMap((item): JsonObject[] => {
    const known = base.find(({ name }) => name === item.name);
    if (!known) return [item];
    const more = beyond(known, item);
    return Object.keys(more).length === 0 ? [] : [{ name: item.name as Json, ...more }];
  });
  return rest.length === 0 ? undefined : rest;
}

function isNamedList(value: Json): value is readonly JsonObject[] {
  return Array.isArray(value) && value.every((item) => isJsonObject(item) && typeof item.name === "string");
}
