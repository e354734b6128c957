/**
 * The online store of a server. It is a cache: a damaged file is set aside and replaced by an empty
 * one, at the start or whenever damage is detected, and no query fails because of it.
 */

import { isDamage, setAside } from "../sqlite/open.ts";
import { openSqliteOnlineStore, type SqliteOnlineOptions } from "./sqlite.ts";
import type { OnlineStore } from "./store.ts";

/** Options with which the store is opened. */
export interface RenewableOptions extends SqliteOnlineOptions {
  /** Called when a damaged file was set aside: the error, and the file's new path. */
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
  /** Values dropped by the stores of earlier files. */
  let dropped = 0;

  const open = (): OnlineStore =>
    openSqliteOnlineStore(path, {
      ...options,
      onWriteFailure(error) {
        options.onWriteFailure?.(error);
        if (isDamage(error)) renewSoon(error);
      },
    });
  const openEmpty = (damage: unknown): OnlineStore => {
    options.onRenewal(damage, setAside(path));
    return open();
  };
  const openOrRenew = (): OnlineStore => {
    try {
      return open();
    } catch (error) {
      if (!isDamage(error)) throw error;
      return openEmpty(error);
    }
  };
  let store = openOrRenew();
  let isSuspended = false;

  const renew = (damage: unknown): void => {
    isRenewing = true;
    dropped += store.dropped();
    try {
      store.close();
    } finally {
      store = openEmpty(damage);
      if (isSuspended) store.suspend();
      isRenewing = false;
    }
  };
  /**
   * Renews after the current call: a failed write is reported from within the store, which cannot
   * be replaced at that moment.
   */
  const renewSoon = (damage: unknown): void => {
    if (isRenewing || isClosed) return;
    const damagedStore = store;
    setImmediate(() => {
      if (!isClosed && store === damagedStore) renew(damage);
    });
  };
  const withRenewal = <T>(work: (of: OnlineStore) => T): T => {
    try {
      return work(store);
    } catch (error) {
      if (!isDamage(error)) throw error;
      renew(error);
      return work(store);
    }
  };
  /** Work in steps, which fails when one of them finds damage; the next work is on the new file. */
  const walking = async <T>(work: (of: OnlineStore) => Promise<T>): Promise<T> => {
    try {
      return await work(store);
    } catch (error) {
      if (isDamage(error)) renewSoon(error);
      throw error;
    }
  };

  return {
    read: (...given) => withRenewal((of) => of.read(...given)),
    put: (...given) => withRenewal((of) => of.put(...given)),
    flush: () => store.flush(),
    dropped: () => dropped + store.dropped(),
    measure: () => withRenewal((of) => of.measure()),
    measureFeatures: (signal) => walking((of) => of.measureFeatures(signal)),
    eachVector: (...given) => walking((of) => of.eachVector(...given)),
    pending: () => store.pending(),
    suspend() {
      isSuspended = true;
      store.suspend();
    },
    resume() {
      isSuspended = false;
      store.resume();
    },
    dropScope: (...given) => withRenewal((of) => of.dropScope(...given)),
    dropFeatures: (featureIds, signal) => walking((of) => of.dropFeatures(featureIds, signal)),
    deleteKeys: (scope, rows, signal) => walking((of) => of.deleteKeys(scope, rows, signal)),
    sweep: (signal) => walking((of) => of.sweep(signal)),
    probe: () => withRenewal((of) => of.probe()),
    close() {
      isClosed = true;
      return store.close();
    },
  };
}
