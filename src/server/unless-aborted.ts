/**
 * What work comes to, or undefined once the signal is aborted: the work then goes on for nobody,
 * and its failure is nobody's. Rejects with the work's error.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const end = (): void => resolve(undefined);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  try {
    return await Promise.race([work, promise]);
  } finally {
    work.catch(() => undefined);
    signal.removeEventListener("abort", end);
  }
}
