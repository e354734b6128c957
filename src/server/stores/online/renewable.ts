/**
 * The online store of a server. It is a cache: a damaged file is set aside and begun anew, at the
 * start or whenever the damage shows, and no query fails over it.
 */

import { isDamage, setAside } from "../sqlite/open.ts";
import { openSqliteOnlineStore, type SqliteOnlineOptions } from "./sqlite.ts";
import type { OnlineStore } from "./store.ts";

/** Options with which the store is opened. */
export interface RenewableOptions extends SqliteOnlineOptions {
  /** Told that the file was damaged, and where it is now. */
  readonly onRenewal: (damage: unknown, kept: string) => void;
}

/**
 * Opens or creates the store.
 * @throws StartError when the file has a newer schema, or cannot be used for another reason than
 * damage
 */
export function openRenewableOnlineStore(path: string, options: RenewableOptions): OnlineStore {
  let isRenewing = false;
  let isClosed = false;
  /** Values that earlier files' stores dropped. */
  let dropped = 0;

  const open = (): OnlineStore =>
    openSqliteOnlineStore(path, {
      ...options,
      onWriteFailure(error) {
        options.onWriteFailure?.(error);
        if (isDamage(error)) renewSoon(error);
      },
    });
  const begin = (damage: unknown): OnlineStore => {
    options.onRenewal(damage, setAside(path));
    return open();
  };
  const openSound = (): OnlineStore => {
    try {
      return open();
    } catch (error) {
      if (!isDamage(error)) throw error;
      return begin(error);
    }
  };
  let store = openSound();

  const renew = (damage: unknown): void => {
    isRenewing = true;
    dropped += store.dropped();
    try {
      store.close();
    } finally {
      store = begin(damage);
      isRenewing = false;
    }
  };
  /** A write that fails is told from within the store, which cannot be replaced at that moment. */
  const renewSoon = (damage: unknown): void => {
    if (isRenewing || isClosed) return;
    const damagedStore = store;
    setImmediate(() => {
      if (!isClosed && store === damagedStore) renew(damage);
    });
  };
  const sound = <T>(work: (of: OnlineStore) => T): T => {
    try {
      return work(store);
    } catch (error) {
      if (!isDamage(error)) throw error;
      renew(error);
      return work(store);
    }
  };

  return {
    read: (...given) => sound((of) => of.read(...given)),
    put: (...given) => sound((of) => of.put(...given)),
    flush: () => store.flush(),
    dropped: () => dropped + store.dropped(),
    dropScope: (...given) => sound((of) => of.dropScope(...given)),
    async sweep(signal) {
      try {
        return await store.sweep(signal);
      } catch (error) {
        if (isDamage(error)) renewSoon(error);
        throw error;
      }
    },
    probe: () => sound((of) => of.probe()),
    close() {
      isClosed = true;
      return store.close();
    },
  };
}
