/**
 * Works on items as they come, at most `most` at once, and returns the results in their order. The
 * first failure ends it, when the work that runs has ended.
 */
export async function atOnce<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const running = new Set<Promise<void>>();
  let failed: { readonly error: unknown } | undefined;
  try {
    let at = 0;
    for await (const item of items) {
      const place = at++;
      const one = work(item)
        .then((result) => {
          results[place] = result;
        })
        .catch((error: unknown) => {
          failed ??= { error };
        })
        .finally(() => running.delete(one));
      running.add(one);
      if (running.size >= most) await Promise.race(running);
      if (failed) break;
    }
  } finally {
    await Promise.all(running);
  }
  if (failed) throw failed.error;
  return results;
}
