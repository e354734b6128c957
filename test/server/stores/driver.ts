/**
 * Drivers of stores under test. A driver passes a store's conformance suites by being named in that
 * store's table.
 */

/** How to open a store with one driver. */
export interface Driver<Store> {
  /** As it stands in the names of tests. */
  readonly name: string;
  /**
   * Opens the store that is kept in a folder: a new one, or one that was closed before.
   * @param options.now the store's clock, epoch milliseconds; default: the system's
   */
  open(folder: string, options?: { readonly now?: () => number }): Store | Promise<Store>;
}
