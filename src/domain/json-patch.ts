/** JSON Patch, RFC 6902. */

import { listIndex, PointerInvalid, parsePointer } from "./json-pointer.ts";
import { equalsJson, isJsonObject, type Json, type JsonObject, jsonObject, member, withoutMember } from "./json-value.ts";

/** A patch that is malformed, or does not fit the document; the document is as it was. */
export class PatchRefused extends Error {
  override readonly name = "PatchRefused";
}

/** One operation of a patch. Paths are reference tokens. */
export type PatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: readonly string[]; readonly value: Json }
  | { readonly op: "remove"; readonly path: readonly string[] }
  | { readonly op: "move" | "copy"; readonly path: readonly string[]; readonly from: readonly string[] };

const OPERATIONS = ["add", "remove", "replace", "move", "copy", "test"];
const WITH_VALUE = ["add", "replace", "test"];
/** Most operations of a patch. */
const MOST_OPERATIONS = 1_000;

/** Reads a patch: a list of operations. Throws PatchRefused. */
export function readJsonPatch(patch: Json): PatchOperation[] {
  if (!Array.isArray(patch)) throw new PatchRefused("a JSON patch is a list of operations");
  if (patch.length > MOST_OPERATIONS) throw new PatchRefused(`a JSON patch has at most ${MOST_OPERATIONS} operations`);
  return patch.map((operation: Json, index) => {
    const at = `operation ${index + 1}`;
    if (!isJsonObject(operation)) throw new PatchRefused(`${at} is no object`);
    const op = member(operation, "op");
    if (typeof op !== "string" || !OPERATIONS.includes(op)) throw new PatchRefused(`${at} has no \`op\` of ${OPERATIONS.join(", ")}`);
    const path = pointerOf(operation, "path", `${at} (${op})`);
    if (op === "move" || op === "copy") return { op, path, from: pointerOf(operation, "from", `${at} (${op})`) };
    const value = member(operation, "value");
    if (WITH_VALUE.includes(op) && value === undefined) throw new PatchRefused(`${at} (${op}) has no \`value\``);
    return { op, path, value } as PatchOperation;
  });
}

/**
 * The document that a patch makes of another, which stays as it is. Throws PatchRefused.
 */
export function applyJsonPatch(document: Json, patch: readonly PatchOperation[]): Json {
  return patch.reduce((before, operation, index) => {
    try {
      return applied(before, operation);
    } catch (error) {
      if (!(error instanceof PatchRefused)) throw error;
      throw new PatchRefused(`operation ${index + 1} (${operation.op}): ${error.message}`);
    }
  }, document);
}

function applied(document: Json, operation: PatchOperation): Json {
  switch (operation.op) {
    case "add":
      return added(document, operation.path, operation.value);
    case "remove":
      return removed(document, operation.path);
    case "replace":
      valueAt(document, operation.path);
      return edited(document, operation.path, {
        object: (parent, name) => replacedMember(parent, name, operation.value),
        list: (parent, token) => parent.with(existing(parent, token), operation.value),
        whole: operation.value,
      });
    case "move": {
      const { from, path } = operation;
      const moved = valueAt(document, from);
      if (from.length < path.length && from.every((token, index) => token === path[index]))
        throw new PatchRefused("a value cannot be moved into itself");
      if (from.length === path.length && from.every((token, index) => token === path[index])) return document;
      return added(removed(document, from), path, moved);
    }
    case "copy":
      return added(document, operation.path, valueAt(document, operation.from));
    case "test":
      if (!equalsJson(valueAt(document, operation.path), operation.value))
        throw new PatchRefused(`${shown(operation.path)} has another value`);
      return document;
  }
}

function added(document: Json, path: readonly string[], value: Json): Json {
  return edited(document, path, {
    object: (parent, name) => replacedMember(parent, name, value),
    list: (parent, token) => {
      const index = token === "-" ? parent.length : listIndex(token);
      if (index === undefined || index > parent.length) throw new PatchRefused(`a list of ${parent.length} has no place '${token}'`);
      return parent.toSpliced(index, 0, value);
    },
    whole: value,
  });
}

function removed(document: Json, path: readonly string[]): Json {
  valueAt(document, path);
  return edited(document, path, {
    object: withoutMember,
    list: (parent, token) => parent.toSpliced(existing(parent, token), 1),
    whole: null,
  });
}

/** The document with the innermost container on the way of a path changed. */
function edited(
  document: Json,
  path: readonly string[],
  edit: {
    readonly object: (parent: JsonObject, name: string) => Json;
    readonly list: (parent: readonly Json[], token: string) => Json;
    readonly whole: Json;
  },
): Json {
  if (path.length === 0) return edit.whole;
  const parentPath = path.slice(0, -1);
  const last = path.at(-1) as string;
  const parent = valueAt(document, parentPath);
  const changed = Array.isArray(parent)
    ? edit.list(parent, last)
    : isJsonObject(parent)
      ? edit.object(parent, last)
      : notContainer(parentPath);
  return parentPath.length === 0 ? changed : rebuilt(document, parentPath, changed);
}

function rebuilt(document: Json, [token, ...rest]: readonly string[], value: Json): Json {
  if (token === undefined) return value;
  if (Array.isArray(document)) {
    const index = existing(document, token);
    return document.with(index, rebuilt(document[index], rest, value));
  }
  const object = document as JsonObject;
  return replacedMember(object, token, rebuilt(object[token] as Json, rest, value));
}

function replacedMember(object: JsonObject, name: string, value: Json): JsonObject {
  return jsonObject(new Map([...Object.entries(object), [name, value]]));
}

function valueAt(document: Json, path: readonly string[]): Json {
  return path.reduce<Json>((value, token, index) => {
    const inner = Array.isArray(value) ? value[existing(value, token)] : isJsonObject(value) ? member(value, token) : undefined;
    if (inner === undefined) throw new PatchRefused(`there is no ${shown(path.slice(0, index + 1))}`);
    return inner;
  }, document);
}

function existing(list: readonly Json[], token: string): number {
  const index = listIndex(token);
  if (index === undefined || index >= list.length) throw new PatchRefused(`a list of ${list.length} has no place '${token}'`);
  return index;
}

function notContainer(path: readonly string[]): never {
  throw new PatchRefused(`${shown(path)} is neither an object nor a list`);
}

function shown(path: readonly string[]): string {
  return path.length === 0 ? "the document" : `/${path.join("/")}`;
}

function pointerOf(operation: JsonObject, name: "path" | "from", at: string): string[] {
  const pointer = member(operation, name);
  if (typeof pointer !== "string") throw new PatchRefused(`${at} has no \`${name}\``);
  try {
    return parsePointer(pointer);
  } catch (error) {
    if (error instanceof PointerInvalid) throw new PatchRefused(`${at}: ${error.message}`);
    throw error;
  }
}
