/** Pages of the log, of which one answer of the server may have few or none. */

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
