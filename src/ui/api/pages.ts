/** Lists that come by pages: the first is kept at the present, older ones are asked for by hand. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { CallError, type CallScope, call } from "./call.ts";
import { type Answer, useAnswer } from "./load.ts";
import type { Method, Methods } from "./methods.ts";

/** Methods whose responses are pages. */
export type PagedMethod = {
  [M in Method]: Methods[M] extends [{ pageToken?: string }, { nextPageToken?: string }] ? M : never;
}[Method];

/** The pages that were asked for until now. */
export interface Pages<R> {
  /** The state of the first page. */
  readonly first: Answer<R> & { readonly reload: () => void };
  /** The responses in their order; none as long as the first is not there. */
  readonly all: readonly R[];
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  /** Why the last further page could not be had. */
  readonly error: CallError | undefined;
  readonly more: () => Promise<void>;
}

/** The pages of a list. Another request begins anew. */
export function usePages<M extends PagedMethod>(method: M, request: Methods[M][0], scope: CallScope): Pages<Methods[M][1]> {
  const first = useAnswer(method, request, scope);
  const older = useSignal<readonly Methods[M][1][]>([]);
  const error = useSignal<CallError | undefined>(undefined);
  const isLoading = useSignal(false);
  const key = JSON.stringify([method, request, scope]);
  const known = useRef(key);
  if (known.current !== key) {
    known.current = key;
    older.value = [];
    error.value = undefined;
  }
  const all = first.data === undefined ? [] : [first.data, ...older.value];
  const next = (all.at(-1) as { readonly nextPageToken?: string } | undefined)?.nextPageToken ?? "";
  const more = async () => {
    isLoading.value = true;
    error.value = undefined;
    try {
      const page = await call(method, { ...request, pageToken: next }, scope);
      if (known.current === key) older.value = [...older.value, page];
    } catch (thrown) {
      error.value = thrown instanceof CallError ? thrown : new CallError("unknown", String(thrown));
    } finally {
      isLoading.value = false;
    }
  };
  return { first, all, hasMore: next !== "", isLoading: isLoading.value, error: error.value, more };
}
