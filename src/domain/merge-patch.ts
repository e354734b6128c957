/** JSON Merge Patch, RFC 7396. */

import { isJsonObject, type Json, type JsonObject, jsonObject, member } from "./json-value.ts";

/**
 * The document that a merge patch makes of another: members of the patch replace or extend those of
 * the target, null removes one, and anything but an object replaces the whole. Members that the
 * patch does not name keep their place.
 */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const before: JsonObject = target !== undefined && isJsonObject(target) ? target : {};
  const members = new Map<string, Json>(Object.entries(before));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, applyMergePatch(member(before, name), value));
  }
  return jsonObject(members);
}
