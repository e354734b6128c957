/**
 * Modules that are found by their path, so that a new one is listed nowhere: commands and the
 * implementations of services. A run from source imports them directly. A bundle contains only
 * modules that the bundler sees imported, so the build replaces this file with a table of them
 * (`packaging/modules-by-path.ts`).
 */

/**
 * The module at a path relative to `src`. Rejects when there is none; when the bundle lacks one
 * that exists, the build's list is wrong.
 */
export function importModule(path: string): Promise<unknown> {
  return import(`./${path}`);
}
