/**
 * What was deleted, as writes have to know it: a value of a deleted row that was observed until the
 * deletion is refused, whoever computed it and however late it comes. A value observed later is
 * stored as ever. Of a version that was ended, every value is refused.
 */

import { onlineScope } from "../deployments/live-scopes.ts";
import type { DeletedRows, DeletionRecord } from "../stores/metadata/deletions.ts";
import type { AppendRefusal, Observations, OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore, OnlineWrites } from "../stores/online/store.ts";

/** A feature's rows that were deleted. */
interface Mark {
  /** In the online store. */
  readonly scope: string;
  /** Undefined = all rows. */
  readonly keys: ReadonlySet<string> | undefined;
  /** Epoch milliseconds. */
  readonly until: number;
}

/** A value as somebody is told of it. */
export interface ToldValue {
  readonly fqn: string;
  /** Primary key of its row as JSON; null when it is not known. */
  readonly key: unknown;
}

/** Values that nobody is told of any more. It can be sent to a thread. */
export interface SilencedValues {
  readonly environmentId: string;
  /** Empty = the environment's own values. */
  readonly branch: string;
  /** Those that came about until then, epoch milliseconds. */
  readonly until: number;
  /** Type-tagged keys of the rows, by the fully qualified names of the features. */
  readonly keys: ReadonlyMap<string, ReadonlySet<string>>;
}

/** What nobody is told of any more after a deletion. */
export function silencedBy({ branch, createdAt, environmentId, rows }: DeletionRecord): SilencedValues {
  const keys = new Map<string, ReadonlySet<string>>();
  for (const row of rows) {
    const ofRow = new Set(row.keys);
    for (const fqn of row.features ?? []) keys.set(fqn, ofRow);
  }
  return { environmentId, branch, until: createdAt, keys };
}

/** Whether a value of the deleted scope is among those that nobody is told of. */
export function isSilenced({ keys }: SilencedValues, { fqn, key }: ToldValue): boolean {
  return typesOfKey(key).some((one) => keys.get(fqn)?.has(one));
}

/** The keys of stores that a key as JSON may be: a large integer is a text there. */
function typesOfKey(key: unknown): readonly string[] {
  return typeof key === "number" || typeof key === "string" ? [`i:${key}`, `s:${key}`] : [];
}

/** Rows that were deleted, and until when: what was later stays. */
export interface RowDeletion extends Pick<DeletedRows, "namespace" | "features" | "keys"> {
  /** Epoch milliseconds. */
  readonly until: number;
}

const NO_ROWS: readonly RowDeletion[] = [];

/** The deletions that are in force. */
export class DeletedValues {
  #marks = new Map<number, readonly Mark[]>();
  /** The deletions of rows by environment, and when the latest one was asked for. */
  #ofRows: ReadonlyMap<string, { readonly latest: number; readonly deletions: readonly DeletionRecord[] }> = new Map();
  /** The rows that were deleted by environment, without branches. */
  #rows: ReadonlyMap<string, { readonly deletions: readonly DeletionRecord[]; readonly rows: readonly RowDeletion[] }> = new Map();
  /** Ids of versions that were ended. */
  #ended: ReadonlySet<number> = new Set();

  /** Replaces what is known. */
  replace(deletions: Iterable<DeletionRecord>): void {
    const ofRows = new Map<string, { readonly latest: number; readonly deletions: DeletionRecord[] }>();
    const marks = new Map<number, Mark[]>();
    const ended = new Set<number>();
    const add = (ids: readonly number[], mark: Mark): void => {
      for (const id of ids) {
        const known = marks.get(id);
        if (known) known.push(mark);
        else marks.set(id, [mark]);
      }
    };
    for (const deletion of deletions) {
      const { branch, createdAt, environmentId, rows, versions } = deletion;
      if (rows.length > 0) {
        const known = ofRows.get(environmentId) ?? { latest: 0, deletions: [] };
        known.deletions.push(deletion);
        ofRows.set(environmentId, { ...known, latest: Math.max(known.latest, createdAt) });
      }
      for (const id of versions?.ended ?? []) ended.add(id);
      for (const { keys, featureIds, relationIds } of rows) {
        const mark = { scope: onlineScope(environmentId, branch), until: createdAt };
        add(featureIds, { ...mark, keys: new Set(keys) });
        add(relationIds, { ...mark, keys: undefined });
      }
    }
    this.#rows = new Map(
      [...ofRows].map(([environmentId, known]) => {
        const deletions = known.deletions.filter(({ branch }) => branch === "");
        const before = this.#rows.get(environmentId);
        if (before?.deletions.length === deletions.length && before.deletions.every((one, at) => one === deletions[at]))
          return [environmentId, before];
        const rows = deletions.flatMap(({ createdAt, rows: own }) => own.map((one) => ({ ...one, until: createdAt })));
        return [environmentId, { deletions, rows }];
      }),
    );
    this.#marks = marks;
    this.#ofRows = ofRows;
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

  /**
   * The rows of an environment, not of its branches, that were deleted: the same list as long as
   * there are the same deletions.
   */
  rowsOf(environmentId: string): readonly RowDeletion[] {
    return this.#rows.get(environmentId)?.rows ?? NO_ROWS;
  }

  /**
   * The test of values of an environment that came about from a time on: whether nobody may be told
   * of one any more, whatever its branch. Undefined when everything may be told.
   */
  silencedSince(environmentId: string, since: number): ((branch: string, value: ToldValue) => boolean) | undefined {
    const known = this.#ofRows.get(environmentId);
    if (!known || since > known.latest) return undefined;
    const later = known.deletions.filter(({ createdAt }) => since <= createdAt).map(silencedBy);
    return (branch, value) => later.some((one) => one.branch === branch && isSilenced(one, value));
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
