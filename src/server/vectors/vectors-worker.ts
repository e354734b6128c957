/** Worker thread that has the vectors in memory, so that a search never delays a query. */

import { serve } from "../thread/rpc.ts";
import { type FoundVectors, type VectorBatch, type VectorForm, VectorMemory, type VectorSearch } from "./vector-memory.ts";

/** The vectors of several features, by the ids that their owner gives them. */
export class VectorMemories {
  readonly #memories = new Map<number, VectorMemory>();

  /** Takes vectors of a feature; returns the number of its rows. */
  put(id: number, form: VectorForm, batch: VectorBatch): number {
    let memory = this.#memories.get(id);
    if (!memory) {
      memory = new VectorMemory(form);
      this.#memories.set(id, memory);
    }
    memory.put(batch);
    return memory.rows;
  }

  remove(id: number, keys: readonly string[], until: number): void {
    this.#memories.get(id)?.remove(keys, until);
  }

  /** Forgets what has expired. */
  expire(now: number): void {
    for (const memory of this.#memories.values()) memory.expire(now);
  }

  /** Forgets a feature. */
  drop(id: number): void {
    this.#memories.delete(id);
  }

  /** The nearest rows for each vector; empty for a feature that has never had a vector. */
  search(id: number, search: VectorSearch): FoundVectors[] {
    return this.#memories.get(id)?.search(search) ?? [];
  }
}

serve<VectorMemories, null>({ make: () => new VectorMemories(), close: () => undefined });
