/**
 * What was deleted, as writes have to know it: a value of a deleted row that was observed until the
 * deletion is refused, whoever computed it and however late it comes. A value observed later is
 * stored as ever.
 */

import { onlineScope } from "../deployments/live-scopes.ts";
import type { DeletionRecord } from "../stores/metadata/deletions.ts";
import type { Observations, OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore, OnlineWrites } from "../stores/online/store.ts";

/** A feature's rows that were deleted. */
interface Mark {
  readonly scope: string;
  /** Undefined = all rows. */
  readonly keys: ReadonlySet<string> | undefined;
  /** Epoch milliseconds. */
  readonly until: number;
}

/** The deletions that are in force. */
export class DeletedValues {
  #marks = new Map<number, readonly Mark[]>();

  /** Replaces what is known. */
  replace(deletions: Iterable<DeletionRecord>): void {
    const marks = new Map<number, Mark[]>();
    const add = (ids: readonly number[], mark: Mark): void => {
      for (const id of ids) {
        const known = marks.get(id);
        if (known) known.push(mark);
        else marks.set(id, [mark]);
      }
    };
    for (const { branch, createdAt, environmentId, rows } of deletions)
      for (const { keys, featureIds, relationIds } of rows) {
        const mark = { scope: onlineScope(environmentId, branch), until: createdAt };
        add(featureIds, { ...mark, keys: new Set(keys) });
        add(relationIds, { ...mark, keys: undefined });
      }
    this.#marks = marks;
  }

  /** Whether a value may not be stored. */
  refuses(scope: string, featureId: number, key: string, observedAt: number): boolean {
    const marks = this.#marks.get(featureId);
    return marks?.some((mark) => observedAt <= mark.until && mark.scope === scope && (mark.keys?.has(key) ?? true)) ?? false;
  }

  /** An online store that is not given what may not be stored. */
  guardOnline(store: Pick<OnlineStore, "read" | "put" | "dropScope">): Pick<OnlineStore, "read" | "put" | "dropScope"> {
    return {
      read: (scope, reads) => store.read(scope, reads),
      put: (scope, writes) => store.put(scope, this.#marks.size === 0 ? writes : this.#storable(scope, writes)),
      dropScope: (scope) => store.dropScope(scope),
    };
  }

  /** An offline store that is not given what may not be stored; it keeps no values of branches. */
  guardOffline(store: Pick<OfflineStore, "append">): Pick<OfflineStore, "append"> {
    return {
      append: (observations) => store.append(this.#marks.size === 0 ? observations : observations.map((one) => this.#storableOf(one))),
    };
  }

  #storable(scope: string, { values, rows }: OnlineWrites): OnlineWrites {
    return {
      values: values.filter(({ featureId, key, observedAt }) => !this.refuses(scope, featureId, key, observedAt)),
      rows: rows.filter(({ relationId, key, observedAt }) => !this.refuses(scope, relationId, key, observedAt)),
    };
  }

  /**
   * Observations without those that may not be stored. They stay an append, so that refusals keep
   * their index.
   */
  #storableOf(given: Observations): Observations {
    const scope = onlineScope(given.version.environmentId, "");
    const { featureId } = given.version;
    if (!this.#marks.has(featureId)) return given;
    const isKept = given.keys.map((key, row) => !this.refuses(scope, featureId, key, given.observedAt[row] as number));
    if (!isKept.includes(false)) return given;
    const kept = <T>(column: readonly T[]): T[] => column.filter((_, row) => isKept[row]);
    return {
      ...given,
      keys: kept(given.keys),
      values: kept(given.values),
      observedAt: kept(given.observedAt),
      ...(given.knownAt ? { knownAt: kept(given.knownAt) } : {}),
    };
  }
}
