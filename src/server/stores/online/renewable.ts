/** The online store of a server: a cache, so that a damaged file is set aside and begun anew, at the start or whenever the damage shows, and no query fails over it. */

import type { OnlineStore } from "../online.ts";
import { isDamage, setAside } from "../sqlite/open.ts";
import { openSqliteOnlineStore, type SqliteOnlineOptions } from "./sqlite.ts";

/** How it is opened. */
export interface RenewableOptions extends SqliteOnlineOptions {
  /** Told that the file was damaged, and where it is now. */
  readonly onRenewal: (damage: unknown, kept: string) => void;
}

/**
 * Opens or creates the store.
 * @throws StartError when the file has a newer schema, or cannot be used for another reason than damage
 */
export function openRenewableOnlineStore(path: string, options: RenewableOptions): OnlineStore {
  let isRenewing = false;
  let isClosed = false;

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
    getMany: (...given) => sound((of) => of.getMany(...given)),
    putMany: (...given) => sound((of) => of.putMany(...given)),
    getRelation: (...given) => sound((of) => of.getRelation(...given)),
    putRelation: (...given) => sound((of) => of.putRelation(...given)),
    dropScope: (...given) => sound((of) => of.dropScope(...given)),
    dropFeature: (...given) => sound((of) => of.dropFeature(...given)),
    probe: () => sound((of) => of.probe()),
    close() {
      isClosed = true;
      return store.close();
    },
  };
}
