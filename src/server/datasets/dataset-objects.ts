/**
 * Where the bytes of datasets are: the objects of a revision have keys of their own, which begin
 * alike, and end with the SHA-256 of what they hold.
 */

import type { ListedObject, ObjectStore } from "../stores/objects/store.ts";

/** What the keys of all datasets' objects begin with. */
export const DATASET_OBJECTS = "datasets/";

const PAGE_OBJECTS = 1_000;
const NAME_DIGITS = 16;

/** What the keys of an environment's datasets begin with. */
export function environmentPrefix(environmentId: string): string {
  return `${DATASET_OBJECTS}${environmentId}/`;
}

/** The environment whose dataset an object belongs to; undefined when it is none of a dataset. */
export function environmentOfKey(key: string): string | undefined {
  return key.startsWith(DATASET_OBJECTS) ? key.split("/")[1] : undefined;
}

/** The revision that an object belongs to; undefined when it is none of a dataset. */
export function revisionOfKey(key: string): string | undefined {
  return key.startsWith(DATASET_OBJECTS) ? key.split("/")[2] : undefined;
}

/** What the keys of a revision's objects begin with. */
export function revisionPrefix({ environmentId, id }: { readonly environmentId: string; readonly id: string }): string {
  return `${environmentPrefix(environmentId)}${id}/`;
}

/** The key of a file with this content. A file that takes its place has another. */
export function fileKey(revision: { readonly environmentId: string; readonly id: string }, name: string, sha256: string): string {
  const place = new Bun.CryptoHasher("sha256").update(name).digest("hex").slice(0, NAME_DIGITS);
  return `${revisionPrefix(revision)}${place}.${sha256}`;
}

/** The objects whose keys begin with `prefix`, in the order of their keys. */
export async function* objectsOf(objects: Pick<ObjectStore, "list">, prefix: string): AsyncIterable<ListedObject> {
  for (let after = ""; ; ) {
    const page = await objects.list({ prefix, after, limit: PAGE_OBJECTS });
    yield* page;
    if (page.length < PAGE_OBJECTS) return;
    after = page.at(-1)?.key ?? "";
  }
}

/** Deletes the objects whose keys begin with `prefix`, but those that are `kept`. */
export async function deleteObjects(
  objects: Pick<ObjectStore, "list" | "delete">,
  prefix: string,
  { kept = new Set(), signal }: { readonly kept?: ReadonlySet<string>; readonly signal?: AbortSignal } = {},
): Promise<void> {
  for await (const { key } of objectsOf(objects, prefix)) {
    signal?.throwIfAborted();
    if (!kept.has(key)) await objects.delete(key);
  }
}
