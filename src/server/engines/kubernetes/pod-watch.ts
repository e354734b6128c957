/**
 * Waits for what becomes of pods: one watch for all that are waited for, which runs while somebody
 * waits. A watch that the server ends goes on after its last version; one that breaks off, or whose
 * version the server has forgotten, begins with a list anew.
 */

import { ApiRefusal, type KubernetesApi, unlessGone } from "./kubernetes-api.ts";
import type { Pod } from "./pod.ts";

const EXPIRED = 410;

interface Waiter {
  readonly name: string;
  readonly isReached: (pod: Pod) => boolean;
  resolve(pod: Pod | undefined): void;
  reject(error: unknown): void;
}

/** The pods that a selector chooses. */
export class PodWatch {
  readonly #api: KubernetesApi;
  readonly #path: string;
  readonly #query: Readonly<Record<string, string>>;
  readonly #pauseMs: number;
  readonly #waiters = new Map<string, Set<Waiter>>();
  #running: AbortController | undefined;

  /**
   * @param path of the pods @param labelSelector which of them
   * @param pauseMs shortest time between two watches
   */
  constructor(api: KubernetesApi, path: string, labelSelector: string, pauseMs = 1_000) {
    this.#api = api;
    this.#path = path;
    this.#query = { labelSelector };
    this.#pauseMs = pauseMs;
  }

  /**
   * Resolves with a pod once something is true of it, with undefined once there is none. Rejects
   * with the signal's reason, or with Failure when the server does not answer.
   */
  until(name: string, isReached: (pod: Pod) => boolean, signal: AbortSignal): Promise<Pod | undefined> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const settled = (): void => {
        signal.removeEventListener("abort", onAbort);
        this.#leave(waiter);
      };
      const waiter: Waiter = {
        name,
        isReached,
        resolve(pod) {
          settled();
          resolve(pod);
        },
        reject(error) {
          settled();
          reject(error);
        },
      };
      const onAbort = (): void => waiter.reject(signal.reason);
      signal.addEventListener("abort", onAbort);
      const same = this.#waiters.get(name) ?? new Set();
      this.#waiters.set(name, same.add(waiter));
      if (this.#running) this.#look(waiter);
      else void this.#follow();
    });
  }

  /** Looks at a pod of which the watch may have told before. */
  #look(waiter: Waiter): void {
    unlessGone(this.#api.json<Pod>(`${this.#path}/${waiter.name}`)).then((pod) => this.#tell(waiter, pod), waiter.reject);
  }

  #tell(waiter: Waiter, pod: Pod | undefined): void {
    if (pod === undefined || waiter.isReached(pod)) waiter.resolve(pod);
  }

  #leave(waiter: Waiter): void {
    const same = this.#waiters.get(waiter.name);
    same?.delete(waiter);
    if (same?.size === 0) this.#waiters.delete(waiter.name);
    if (this.#waiters.size > 0) return;
    this.#running?.abort();
    this.#running = undefined;
  }

  async #follow(): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    let version: string | undefined;
    while (!running.signal.aborted) {
      const began = performance.now();
      try {
        version ??= await this.#list(running.signal);
        if (running.signal.aborted) return;
        for await (const { type, object } of this.#api.watch<Pod>(this.#path, this.#query, version, running.signal)) {
          version = object.metadata?.resourceVersion ?? version;
          if (type === "BOOKMARK") continue;
          for (const waiter of [...(this.#waiters.get(object.metadata?.name ?? "") ?? [])])
            this.#tell(waiter, type === "DELETED" ? undefined : object);
        }
      } catch (error) {
        if (running.signal.aborted) return;
        const isExpired = error instanceof ApiRefusal && error.status === EXPIRED;
        if (!isExpired && (error instanceof ApiRefusal || version === undefined)) return this.#give(error);
        version = undefined;
      }
      await Bun.sleep(Math.max(0, this.#pauseMs - (performance.now() - began)));
    }
  }

  /** Tells those who wait how their pods are now. @returns the version that this is of */
  async #list(signal: AbortSignal): Promise<string> {
    const before = [...this.#waiters.values()].flatMap((same) => [...same]);
    const { items, version } = await this.#api.list<Pod>(this.#path, this.#query, signal);
    const found = new Map(items.map((pod) => [pod.metadata?.name, pod]));
    for (const waiter of before) this.#tell(waiter, found.get(waiter.name));
    return version;
  }

  #give(error: unknown): void {
    this.#running = undefined;
    for (const waiter of [...this.#waiters.values()].flatMap((same) => [...same])) waiter.reject(error);
  }
}
