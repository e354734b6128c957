/** Calls of services that list, show and delete the documents of a collection. */

import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Collection, Document } from "../../documents/collection.ts";
import { type RecordOf, recordMessage } from "../record-message.ts";

/** Calls about documents whose message is `M`. */
export interface DocumentCalls<M> {
  /** The documents of the call's scope, by name. */
  list(context: HandlerContext): Promise<M[]>;
  /** Rejects with Failure not_found. */
  get(idOrName: string, context: HandlerContext): Promise<M>;
  /** Deletes a document and returns it. Rejects with Failure not_found. */
  delete(idOrName: string, context: HandlerContext): Promise<M>;
}

/**
 * The calls about the documents of a collection. Their message has fields of their content, and
 * `id`, `name`, `created_at` and `updated_at` where it has fields of those names; what it has no
 * field for is not shown.
 * @param scopeOf the team, project or environment of a call
 */
export function documentCalls<C extends object, D extends DescMessage>(
  collection: Collection<C>,
  schema: D,
  scopeOf: (context: HandlerContext) => string | Promise<string>,
): DocumentCalls<MessageShape<D>> {
  const message = ({ content, createdAt, id, name, updatedAt }: Document<C>) =>
    recordMessage(schema, { ...content, id, name, createdAt, updatedAt } as RecordOf<MessageShape<D>>);
  return {
    list: async (context) => (await collection.list(await scopeOf(context))).map(message),
    get: async (idOrName, context) => message(await collection.get(await scopeOf(context), idOrName)),
    delete: async (idOrName, context) => message(await collection.delete(await scopeOf(context), idOrName)),
  };
}
