/**
 * Answers of calls that pages show. An answer is kept by its call: a page that is opened again
 * shows the kept one at once, while it is asked for anew.
 */

import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type CallError, type CallScope, call } from "./call.ts";
import type { Method, Methods } from "./methods.ts";
import { isLoggedIn } from "./session.ts";

/** What is known of a call's answer. */
export interface Answer<T> {
  /** The last answer; undefined as long as there was none. */
  readonly data: T | undefined;
  /** Why the latest call failed; undefined when it did not. */
  readonly error: CallError | undefined;
  /** Whether a call is under way. */
  readonly isLoading: boolean;
}

/** An answer, and the way to ask anew. */
export interface Loaded<T> extends Answer<T> {
  readonly reload: () => void;
}

interface Kept {
  readonly state: Signal<Answer<unknown>>;
  readonly ask: () => Promise<void>;
  users: number;
}

const MOST_KEPT = 200;
const kept = new Map<string, Kept>();
const NOTHING: Answer<never> = { data: undefined, error: undefined, isLoading: false };

/**
 * The answer of a call, asked for when the component appears and whenever the call changes.
 * @param request undefined = do not call yet
 */
export function useAnswer<M extends Method>(method: M, request: Methods[M][0] | undefined, scope: CallScope): Loaded<Methods[M][1]> {
  const key = request === undefined ? undefined : JSON.stringify([method, request, scope]);
  const entry = key === undefined || request === undefined ? undefined : keptOf(key, method, request, scope);
  useEffect(() => {
    if (!entry) return;
    entry.users++;
    void entry.ask();
    return () => {
      entry.users--;
    };
  }, [key]);
  const { data, error, isLoading } = entry?.state.value ?? NOTHING;
  return { data: data as Methods[M][1] | undefined, error, isLoading, reload: () => void entry?.ask() };
}

/** Asks anew for everything that is shown. */
export function reloadShown(): void {
  for (const one of kept.values()) if (one.users > 0) void one.ask();
}

function keptOf<M extends Method>(key: string, method: M, request: Methods[M][0], scope: CallScope): Kept {
  const found = kept.get(key);
  if (found) return found;
  const state = signal<Answer<unknown>>({ ...NOTHING, isLoading: true });
  let under = false;
  let again = false;
  const ask = async (): Promise<void> => {
    if (under) {
      again = true;
      return;
    }
    under = true;
    try {
      do {
        again = false;
        state.value = { ...state.value, isLoading: true };
        state.value = await call(method, request, scope).then(
          (data) => ({ data, error: undefined, isLoading: again }),
          (error: CallError) => ({ data: state.value.data, error, isLoading: again }),
        );
      } while (again);
    } finally {
      under = false;
    }
  };
  for (const [old, { users }] of kept) if (kept.size >= MOST_KEPT && users === 0) kept.delete(old);
  const made = { state, ask, users: 0 };
  kept.set(key, made);
  return made;
}

// What one session saw is not for the next.
isLoggedIn.subscribe((now) => {
  if (!now) kept.clear();
});
