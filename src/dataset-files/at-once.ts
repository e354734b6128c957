/**
 * Works on items as they come, at most `most` at once, and returns the results in their order. The
 * first failure ends it, when the work that runs has ended.
 * @param stop is called at a failure, so that items do not keep it waiting that are still to come
 */
export async function atOnce<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  most: number,
  work: (item: Item) => Promise<Result>,
  stop: () => void = () => undefined,
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
          stop();
        })
        .finally(() => running.delete(one));
      running.add(one);
      if (running.size >= most) await Promise.race(running);
      if (failed) break;
    }
  } catch (error) {
    failed ??= { error };
  }
  await Promise.all(running);
  if (failed) throw failed.error;
  return results;
}
