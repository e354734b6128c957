/** Pages of what was recorded, of which one answer of the server may have few or none. */

/** One answer of the server. */
export interface LogAnswer<Item> {
  /** Newest first. */
  readonly items: readonly Item[];
  readonly nextPageToken: string;
}

/**
 * At most `limit` items, newest first, from as many answers as that takes, and the token of what
 * follows.
 */
export async function readItems<Item>(
  ask: (pageSize: number, pageToken: string) => Promise<LogAnswer<Item>>,
  { limit, pageToken }: { readonly limit: number; readonly pageToken: string },
  signal?: AbortSignal,
): Promise<LogAnswer<Item>> {
  const items: Item[] = [];
  let token = pageToken;
  do {
    signal?.throwIfAborted();
    const answer = await ask(limit - items.length, token);
    items.push(...answer.items);
    token = answer.nextPageToken;
  } while (token !== "" && items.length < limit);
  return { items, nextPageToken: token };
}

/**
 * The last of as many answers as `readItems` takes, with the items of all of them in `list`.
 * @param most items that are asked for at once
 */
export async function readAnswer<K extends string, A extends Readonly<Record<K, readonly unknown[]>> & { readonly nextPageToken: string }>(
  ask: (page: { readonly pageSize: number; readonly pageToken: string }) => Promise<A>,
  list: K,
  { limit, most, pageToken = "" }: { readonly limit: number; readonly most: number; readonly pageToken?: string | undefined },
  signal?: AbortSignal,
): Promise<A> {
  let last: A | undefined;
  const { items, nextPageToken } = await readItems<unknown>(
    async (size, token) => {
      last = await ask({ pageSize: Math.min(size, most), pageToken: token });
      return { items: last[list], nextPageToken: last.nextPageToken };
    },
    { limit, pageToken },
    signal,
  );
  return { ...(last as A), [list]: items, nextPageToken };
}
