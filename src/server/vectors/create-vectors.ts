/**
 * The nearest rows of a feature class by a vector that the online store has. The vectors of a
 * feature are read once, at its first search, into the memory of a thread, which follows what is
 * written and removed from then on. All that is written goes through `online`, so that what is
 * remembered is what is stored; this process alone writes the store.
 */

import type { FeatureValue } from "../../domain/value.ts";
import { isNumeric, packedElements } from "../stores/online/packed-list.ts";
import { EVICTED, type OnlineStore, type OnlineWrites, type StoredVector, type VectorsRead } from "../stores/online/store.ts";
import { Thread } from "../thread/rpc.ts";
import { bytesOfRow, type FoundVectors, type VectorBatch, type VectorForm, type VectorSearch } from "./vector-memory.ts";
import type { VectorMemories } from "./vectors-worker.ts";

/** Bytes of all vectors in memory. */
const MOST_BYTES = 1_073_741_824;
/** Vectors that one call of the thread searches for, so that others have their turn. */
const WANTED_PER_CALL = 4;
/** Milliseconds for which vectors that were too many are not read again. */
const REFUSED_MS = 60_000;

/** Most times that vectors are read again, because others took their memory before the search. */
const MOST_ATTEMPTS = 3;

/** A feature whose vectors are searched. */
export interface VectorFeature extends VectorsRead {
  /** Scope of the online store. */
  readonly scope: string;
  /** FQN, for messages. */
  readonly fqn: string;
  readonly form: VectorForm;
}

/** The vectors of the online store. */
export interface Vectors {
  /** The store, whose writes are followed. */
  readonly online: OnlineStore;
  /**
   * The nearest rows for each vector, by what was put until now. What was found may have been
   * replaced or removed meanwhile: callers compare `observedAt` with the store. Rejects with
   * VectorsRefused when the feature's vectors are too many.
   */
  nearest(feature: VectorFeature, search: VectorSearch, signal?: AbortSignal): Promise<readonly FoundVectors[]>;
  /** Ends the thread. */
  close(): Promise<void>;
}

/** The vectors of a feature take more memory than there is for them. */
export class VectorsRefused extends Error {
  override readonly name = "VectorsRefused";
}

/** A feature in the thread's memory. */
interface Kept {
  readonly id: number;
  readonly feature: VectorFeature;
  /** Ends the reading when it is not wanted any more. */
  readonly stop: AbortController;
  /** Resolves when all is in memory. */
  loading: Promise<void>;
  rows: number;
}

/** Options, which tests change. */
export interface VectorsOptions {
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Bytes of all vectors in memory; default: 1 GiB. */
  readonly mostBytes?: number;
}

/** Makes the vectors of a store. */
export function createVectors(store: OnlineStore, { now = Date.now, mostBytes = MOST_BYTES }: VectorsOptions = {}): Vectors {
  /** By scope, class and feature; in the order of use, the latest last. */
  const kept = new Map<string, Kept>();
  /** When the vectors of a feature were too many. */
  const refused = new Map<string, number>();
  let lastId = 0;

  const thread = new Thread<VectorMemories, null>({
    entry: "vectors/vectors-worker.ts",
    settings: null,
    onEnd: () => forget(() => true),
  });
  /** Tells the thread what it need not answer; when it has ended, nothing is in memory. */
  const tell = (told: Promise<unknown>): void => {
    told.catch(() => undefined);
  };

  const forget = (matches: (one: Kept) => boolean): void => {
    for (const [key, one] of [...kept]) {
      if (!matches(one)) continue;
      kept.delete(key);
      one.stop.abort();
      tell(thread.call("drop", [one.id]));
    }
  };

  /** Notes a feature's rows; others make room for it, the longest unused first. */
  const account = (one: Kept, rows: number): void => {
    one.rows = rows;
    const bytesOf = ({ feature, rows: own }: Kept): number => own * bytesOfRow(feature.form);
    const key = keyOf(one.feature);
    if (kept.get(key) !== one) return;
    if (bytesOf(one) > mostBytes) {
      refused.set(key, now());
      forget((other) => other === one);
    }
    let bytes = [...kept.values()].reduce((sum, other) => sum + bytesOf(other), 0);
    for (const other of [...kept.values()]) {
      if (bytes <= mostBytes) break;
      if (other === one) continue;
      bytes -= bytesOf(other);
      forget((each) => each === other);
    }
  };

  const put = (one: Kept, batch: VectorBatch): Promise<void> => {
    const { elements, expiresAt, observedAt } = batch;
    const buffers = [elements, expiresAt, observedAt].map(({ buffer }) => buffer as ArrayBuffer);
    return thread.call("put", [one.id, one.feature.form, batch], buffers).then((rows) => account(one, rows));
  };

  const load = async (one: Kept): Promise<void> => {
    const { feature, stop } = one;
    const most = mostBytes / bytesOfRow(feature.form);
    const sent: Promise<void>[] = [];
    let visited = 0;
    const visit = (vectors: readonly StoredVector[]): void => {
      visited += vectors.length;
      if (visited > most) {
        account(one, visited);
        return;
      }
      const fitting = vectors.flatMap(({ packed, ...rest }) => {
        const elements = packedElements(packed);
        return elements.length === feature.form.size ? [{ ...rest, elements }] : [];
      });
      if (fitting.length > 0) sent.push(put(one, batchOf(feature.form, fitting)));
    };
    await store.eachVector(feature.scope, feature, visit, stop.signal);
    await Promise.all(sent);
  };

  const open = (feature: VectorFeature): Kept => {
    const key = keyOf(feature);
    const known = kept.get(key);
    if (known) {
      kept.delete(key);
      kept.set(key, known);
      return known;
    }
    const one: Kept = { id: ++lastId, feature, stop: new AbortController(), loading: Promise.resolve(), rows: 0 };
    kept.set(key, one);
    one.loading = load(one).catch((error: unknown) => {
      forget((other) => other === one);
      throw error;
    });
    tell(one.loading);
    return one;
  };

  const follow = (scope: string, { values }: OnlineWrites): void => {
    for (const one of kept.values()) {
      const { feature } = one;
      if (feature.scope !== scope) continue;
      const own = values.filter(({ featureId, namespace }) => featureId === feature.featureId && namespace === feature.namespace);
      const fitting = own.flatMap(({ value, resolver, ...rest }) =>
        resolver !== EVICTED && isVector(value, feature.form) ? [{ ...rest, elements: value }] : [],
      );
      if (fitting.length > 0) tell(put(one, batchOf(feature.form, fitting)));
      for (const { key, value, resolver, observedAt } of own)
        if (resolver === EVICTED || !isVector(value, feature.form)) tell(thread.call("remove", [one.id, [key], observedAt]));
    }
  };

  const searched = async ({ id, feature }: Kept, search: VectorSearch, signal: AbortSignal | undefined): Promise<FoundVectors[]> => {
    const found: FoundVectors[] = [];
    const step = WANTED_PER_CALL * feature.form.size;
    for (let from = 0; from < search.wanted.length; from += step) {
      signal?.throwIfAborted();
      const wanted = search.wanted.slice(from, from + step);
      found.push(...(await thread.call("search", [id, { ...search, wanted }])));
    }
    return found;
  };

  return {
    online: {
      read: (...given) => store.read(...given),
      put(scope, writes) {
        store.put(scope, writes);
        if (kept.size > 0) follow(scope, writes);
      },
      flush: () => store.flush(),
      dropped: () => store.dropped(),
      measure: () => store.measure(),
      measureFeatures: (...given) => store.measureFeatures(...given),
      eachVector: (...given) => store.eachVector(...given),
      pending: () => store.pending(),
      suspend: () => store.suspend(),
      resume: () => store.resume(),
      dropScope(scope) {
        forget(({ feature }) => feature.scope === scope);
        return store.dropScope(scope);
      },
      dropFeatures(featureIds, signal) {
        forget(({ feature }) => featureIds.includes(feature.featureId));
        return store.dropFeatures(featureIds, signal);
      },
      async deleteKeys(scope, rows, signal) {
        const removed = await store.deleteKeys(scope, rows, signal);
        for (const { id, feature } of kept.values())
          if (feature.scope === scope && feature.namespace === rows.namespace && rows.featureIds.includes(feature.featureId))
            tell(thread.call("remove", [id, rows.keys, rows.until]));
        return removed;
      },
      async sweep(signal) {
        const before = now();
        const removed = await store.sweep(signal);
        if (kept.size > 0) tell(thread.call("expire", [before]));
        return removed;
      },
      probe: () => store.probe(),
      close: () => store.close(),
    },
    async nearest(feature, search, signal) {
      const key = keyOf(feature);
      const refusedAt = refused.get(key);
      if (refusedAt !== undefined && now() - refusedAt >= REFUSED_MS) refused.delete(key);
      else if (refusedAt !== undefined) throw tooMany(feature, mostBytes);
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const one = open(feature);
        await one.loading;
        const found = await searched(one, search, signal);
        if (kept.get(key) === one) return found;
        if (refused.has(key)) throw tooMany(feature, mostBytes);
      }
      throw new VectorsRefused(`the vectors of ${feature.fqn} were forgotten while they were searched, because others needed the memory`);
    },
    close: () => thread.terminate(),
  };
}

function tooMany({ fqn }: VectorFeature, mostBytes: number): VectorsRefused {
  return new VectorsRefused(
    `the vectors of ${fqn} take more than the ${Math.floor(mostBytes / 1_048_576)} MiB that there are for vectors in memory`,
  );
}

function keyOf({ scope, namespace, featureId }: VectorFeature): string {
  return `${scope}\0${namespace}\0${featureId}`;
}

function isVector(value: FeatureValue, { size }: VectorForm): value is number[] {
  return isNumeric(value) && value.length === size;
}

/** Vectors as they go to the thread. */
function batchOf(
  { size, isDouble }: VectorForm,
  vectors: readonly {
    readonly key: string;
    readonly elements: ArrayLike<number>;
    readonly observedAt: number;
    readonly expiresAt?: number;
  }[],
): VectorBatch {
  const elements = isDouble ? new Float64Array(vectors.length * size) : new Float32Array(vectors.length * size);
  for (const [at, vector] of vectors.entries()) elements.set(vector.elements, at * size);
  return {
    keys: vectors.map(({ key }) => key),
    elements,
    observedAt: Float64Array.from(vectors, (vector) => vector.observedAt),
    expiresAt: Float64Array.from(vectors, ({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt),
  };
}
