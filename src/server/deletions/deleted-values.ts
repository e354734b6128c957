/**
 * What was deleted, as writes have to know it: a value of a deleted row that was observed until the
 * deletion is refused, whoever computed it and however late it comes. A value observed later is
 * stored as ever. Of a version that was ended, every value is refused.
 */

import { onlineScope } from "../deployments/live-scopes.ts";
import type { DeletionRecord } from "../stores/metadata/deletions.ts";
import type { AppendRefusal, Observations, OfflineStore } from "../stores/offline/store.ts";
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
  /** Ids of versions that were ended. */
  #ended: ReadonlySet<number> = new Set();

  /** Replaces what is known. */
  replace(deletions: Iterable<DeletionRecord>): void {
    const marks = new Map<number, Mark[]>();
    const ended = new Set<number>();
    const add = (ids: readonly number[], mark: Mark): void => {
      for (const id of ids) {
        const known = marks.get(id);
        if (known) known.push(mark);
        else marks.set(id, [mark]);
      }
    };
    for (const { branch, createdAt, environmentId, rows, versions } of deletions) {
      for (const id of versions?.ended ?? []) ended.add(id);
      for (const { keys, featureIds, relationIds } of rows) {
        const mark = { scope: onlineScope(environmentId, branch), until: createdAt };
        add(featureIds, { ...mark, keys: new Set(keys) });
        add(relationIds, { ...mark, keys: undefined });
      }
    }
    this.#marks = marks;
    this.#ended = ended;
  }

  /** Whether nothing is refused. */
  get #isEmpty(): boolean {
    return this.#marks.size + this.#ended.size === 0;
  }

  /** Whether a value may not be stored. */
  refuses(scope: string, featureId: number, key: string, observedAt: number): boolean {
    if (this.#ended.has(featureId)) return true;
    const marks = this.#marks.get(featureId);
    return marks?.some((mark) => observedAt <= mark.until && mark.scope === scope && (mark.keys?.has(key) ?? true)) ?? false;
  }

  /** An online store that is not given what may not be stored. */
  guardOnline(store: Pick<OnlineStore, "read" | "put" | "dropScope">): Pick<OnlineStore, "read" | "put" | "dropScope"> {
    return {
      read: (scope, reads) => store.read(scope, reads),
      put: (scope, writes) => store.put(scope, this.#isEmpty ? writes : this.#storable(scope, writes)),
      dropScope: (scope) => store.dropScope(scope),
    };
  }

  /** An offline store that is not given what may not be stored; it keeps no values of branches. */
  guardOffline(store: Pick<OfflineStore, "append">): Pick<OfflineStore, "append"> {
    return {
      append: (observations) => (this.#isEmpty ? store.append(observations) : this.#append(store, observations)),
    };
  }

  /**
   * Appends what may be stored. Nothing of an ended version reaches the store, since its table
   * would be made anew.
   */
  async #append(store: Pick<OfflineStore, "append">, observations: readonly Observations[]): Promise<readonly AppendRefusal[]> {
    const indexes = [...observations.keys()].filter((index) => !this.#ended.has(observations[index]?.version.featureId as number));
    const refusals = await store.append(indexes.map((index) => this.#storableOf(observations[index] as Observations)));
    return refusals.map((refusal) => ({ ...refusal, index: indexes[refusal.index] as number }));
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
