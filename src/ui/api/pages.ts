import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { CallError, type CallScope, call } from "./call.ts";
import { type Loaded, useAnswer } from "./load.ts";
import type { Method, Methods } from "./methods.ts";
import { useSteady } from "./steady.ts";

/**
 * Rows that come by pages: the first is kept at the present, the others were asked for after it.
 */
export interface Pages<First, Row> {
  readonly first: Loaded<First>;
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  /** Why the last page was not read. */
  readonly moreError: CallError | undefined;
  readonly more: () => void;
}

interface Paged {
  readonly nextPageToken?: string;
}

/**
 * A list that answers page by page. A change of the request begins it anew; where requests move on
 * with the time, `begin` says what does. Once there is more than the first page, such a request
 * stays as it is, so that no row is left out between two pages.
 */
export function usePages<M extends Method, Row>(
  method: M,
  request: Methods[M][0] | undefined,
  scope: CallScope,
  rowsOf: (page: Methods[M][1]) => readonly Row[],
  keyOf: (row: Row) => string,
  begin = JSON.stringify([method, request, scope]),
): Pages<Methods[M][1], Row> {
  const held = useSignal<{ readonly begin: string; readonly request: Methods[M][0] | undefined } | undefined>(undefined);
  const used = held.value?.begin === begin ? held.value.request : request;
  const first = useSteady(useAnswer(method, used, scope));
  const older = useSignal<readonly Row[]>([]);
  const token = useSignal<string | undefined>(undefined);
  const isLoadingMore = useSignal(false);
  const moreError = useSignal<CallError | undefined>(undefined);
  useEffect(() => {
    held.value = undefined;
    older.value = [];
    token.value = undefined;
    moreError.value = undefined;
  }, [begin]);
  const next = token.value ?? (first.data as Paged | undefined)?.nextPageToken ?? "";
  const newest = first.data === undefined ? [] : rowsOf(first.data);
  const known = new Set(newest.map(keyOf));
  const more = async () => {
    held.value = { begin, request: used };
    isLoadingMore.value = true;
    moreError.value = undefined;
    try {
      const page = await call(method, { ...used, pageToken: next } as Methods[M][0], scope);
      older.value = [...older.value, ...rowsOf(page)];
      token.value = (page as Paged).nextPageToken ?? "";
    } catch (thrown) {
      moreError.value = thrown instanceof CallError ? thrown : new CallError("unknown", String(thrown));
    } finally {
      isLoadingMore.value = false;
    }
  };
  return {
    first,
    rows: [...newest, ...older.value.filter((row) => !known.has(keyOf(row)))],
    hasMore: next !== "",
    isLoadingMore: isLoadingMore.value,
    moreError: moreError.value,
    more: () => void more(),
  };
}
