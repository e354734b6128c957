/**
 * The retry policy: a request is sent again only when that cannot have an effect twice, only for
 * passing failures, with a random wait that is no shorter than the server asks for, never beyond
 * the time of its call, and never more than a small share of all requests.
 */

/** Upper bounds of the first wait; they double. The second is for a refusal that states no time. */
const BASE_MS = 100;
const REFUSED_BASE_MS = 1_000;
/** Retries after a refusal that states no time. */
const REFUSED_RETRIES = 1;
/** The longest wait; where the server asks for a longer one, there are no more attempts. */
const LONGEST_MS = 10_000;
/** Retries for a burst, and those that a request which succeeds earns. */
const BURST = 10;
const SHARE = 0.1;

/** What became of an attempt. */
export interface Attempt {
  /** Retries before it. */
  readonly retried: number;
  readonly idempotent: boolean;
  /** Milliseconds since 1970 at which the call ends. */
  readonly ends: number;
  /** Whether the connection broke, and whether the server may have received the request. */
  readonly broken?: { readonly sent: boolean };
  /** The status of an answer, and its `Retry-After`. */
  readonly answered?: { readonly status: number; readonly retryAfter: string | null };
}

/** The retries of one client. */
export class Retries {
  #left = BURST;
  readonly #most: number;
  constructor(most: number) {
    this.#most = most;
  }

  /** Milliseconds until the next attempt; undefined for none. */
  wait({ answered, broken, ends, idempotent, retried }: Attempt): number | undefined {
    const refused = answered !== undefined && [429, 502, 503].includes(answered.status);
    if (answered && !refused) {
      this.#left = Math.min(BURST, this.#left + SHARE);
      return undefined;
    }
    const asked = refused ? retryAfterMs(answered.retryAfter) : undefined;
    // A refusal with a time stands before the work; without one it may come out of it.
    const passes = idempotent || (refused ? answered.status !== 502 && asked !== undefined : broken?.sent === false);
    const unasked = refused && asked === undefined;
    if (!passes || retried >= (unasked ? Math.min(REFUSED_RETRIES, this.#most) : this.#most)) return undefined;
    const longest = (unasked ? REFUSED_BASE_MS : BASE_MS) * 2 ** retried;
    const wait = asked ?? Math.random() * Math.min(LONGEST_MS, longest);
    if (wait > LONGEST_MS || Date.now() + wait >= ends || this.#left < 1) return undefined;
    this.#left -= 1;
    return wait;
  }
}

/**
 * Milliseconds that a `Retry-After` asks for, in seconds or until a date; undefined when malformed.
 */
function retryAfterMs(value: string | null): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const at = text === "" ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
