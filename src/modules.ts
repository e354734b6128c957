/**
 * Modules that are found by their path, so that a new one is listed nowhere: commands and the
 * implementations of services. From source they are imported as they are; a bundle holds only what
 * it sees imported, so the build puts a table in the place of this file
 * (`packaging/modules-by-path.ts`).
 */

/**
 * Imports a module by its path from `src`. Rejects when there is none; one that the bundle has not
 * is a fault of the build's list.
 */
export function importModule(path: string): Promise<unknown> {
  return import(`./${path}`);
}
