/** Addresses of worker threads' modules, in the source tree and in the compiled binary. */

const EMBEDDED_ROOT = /^.*\/(?:\$bunfs|~BUN|%7EBUN)\/root\//;

/**
 * Address of a worker's module, for `new Worker`. The build makes every
 * `src/server/**\/*-worker.ts` an entry point of its own, stored in the binary under its path from
 * the repository's root.
 * @param path from `src/server`, for example `sql/sqlite-worker.ts`
 */
export function workerEntry(path: string): string {
  const root = EMBEDDED_ROOT.exec(import.meta.url)?.[0];
  return root ? `${root}src/server/${path}` : new URL(`../${path}`, import.meta.url).href;
}
