/** A store whose calls are timed. */

import { SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import type { Histogram, MetricRecorder } from "./recorder.ts";

type Method = (...args: readonly unknown[]) => unknown;

/**
 * A store that behaves as the given one, and records how long calls of some of its methods took,
 * failed ones too.
 * @param name the label of the store
 */
export function timedStore<Store extends object>(
  store: Store,
  name: string,
  methods: readonly (keyof Store & string)[],
  metrics: MetricRecorder,
): Store {
  if (!metrics.isOn) return store;
  const copy: Partial<Record<string, unknown>> = {};
  for (const key of memberNames(store)) {
    const member = store[key as keyof Store];
    if (typeof member !== "function") Object.defineProperty(copy, key, { get: () => store[key as keyof Store], enumerable: true });
    else if (!methods.includes(key as keyof Store & string)) copy[key] = member.bind(store);
    else copy[key] = timed(member.bind(store) as Method, metrics.histogram("store.latency", SERVER_SCOPE, { store: name, operation: key }));
  }
  return copy as Store;
}

/**
 * The same for all methods of a store, and for those of the stores that it has as members; names of
 * the latter's methods begin with the member's.
 */
export function timedStores<Store extends object>(store: Store, name: string, metrics: MetricRecorder, prefix = ""): Store {
  if (!metrics.isOn) return store;
  const copy: Partial<Record<string, unknown>> = {};
  for (const key of memberNames(store)) {
    const member: unknown = store[key as keyof Store];
    const operation = `${prefix}${key}`;
    if (typeof member === "function")
      copy[key] = timed(member.bind(store) as Method, metrics.histogram("store.latency", SERVER_SCOPE, { store: name, operation }));
    else if (prefix === "" && isStore(member)) copy[key] = timedStores(member, name, metrics, `${key}.`);
    else Object.defineProperty(copy, key, { get: () => store[key as keyof Store], enumerable: true });
  }
  return copy as Store;
}

function isStore(member: unknown): member is object {
  return typeof member === "object" && member !== null && Object.values(member).some((inner) => typeof inner === "function");
}

function timed(method: Method, latency: Histogram): Method {
  return (...args) => {
    const began = performance.now();
    let isUnderway = false;
    try {
      const result = method(...args);
      if (result instanceof Promise) {
        isUnderway = true;
        const ended = (): void => latency.observe((performance.now() - began) / 1000);
        result.then(ended, ended);
      }
      return result;
    } finally {
      if (!isUnderway) latency.observe((performance.now() - began) / 1000);
    }
  };
}

/** Names of an object's members, those of its classes too. */
function memberNames(object: object): ReadonlySet<string> {
  const names = new Set<string>();
  for (let from: object | null = object; from && from !== Object.prototype; from = Object.getPrototypeOf(from) as object | null)
    for (const name of Object.getOwnPropertyNames(from)) if (name !== "constructor") names.add(name);
  return names;
}
