/** Parallel work within a limit. */

/**
 * Runs every job, at most `limit` at once, and returns their results in order. After a failure no
 * further job starts. Throws the first failure.
 */
export async function inParallel<T>(jobs: readonly (() => Promise<T>)[], limit: number): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const work = async () => {
    for (let job = jobs[next]; job !== undefined; job = jobs[next]) {
      const index = next++;
      try {
        results[index] = await job();
      } catch (error) {
        next = jobs.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(limit, jobs.length)) }, work));
  return results;
}
