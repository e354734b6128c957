import type { MessageInitShape } from "@bufbuild/protobuf";
import { ErrorCategory, ErrorCode, type ErrorDetailSchema } from "../../../gen/svc/v1/error_pb.ts";

/** One error of a refused query. */
export type Refusal = MessageInitShape<typeof ErrorDetailSchema>;

/** The error of a query that is wrong as a whole: nothing was run. */
export class QueryRefused extends Error {
  override readonly name = "QueryRefused";
  constructor(readonly errors: readonly Refusal[]) {
    super(errors.map((error) => error.message).join("; "));
  }
}

/** The same refusal, with a hint added to its first error. */
export function hinted({ errors: [first, ...others] }: QueryRefused, hint: string): QueryRefused {
  return new QueryRefused([{ ...first, hint }, ...others]);
}

/**
 * Most characters of a message, and of the name that it is about: names come from the request and
 * may have any length.
 */
const MAX_MESSAGE = 2_000;
const MAX_NAME = 500;

/** An error of the request. */
export function refusal(code: ErrorCode, message: string, feature = ""): Refusal {
  return { code, category: ErrorCategory.REQUEST, message: clipped(message, MAX_MESSAGE), feature: clipped(feature, MAX_NAME) };
}

/** A text cut to a maximum length, with the number of characters left out. */
export function clipped(text: string, max = MAX_MESSAGE): string {
  return text.length <= max ? text : `${text.slice(0, max)}... (${text.length - max} more characters)`;
}

/**
 * Most unknown names of a request for which similar ones are searched: the cost is proportional to
 * the graph's names.
 */
const MAX_GUESSES = 20;
/** Most errors of a request that are reported with a message. */
const MAX_REPORTED = 100;

/** Whether to search for a similar name: true for the first names of a request. */
export type Guess = () => boolean;

/** The guesses of a request. */
export function guesses(): Guess {
  let left = MAX_GUESSES;
  return () => left-- > 0;
}

/** All errors of a request: the first hundred with messages, the others as a number. */
export class Refusals {
  readonly #reported: Refusal[] = [];
  #others = 0;

  /** @param guess shared by all that one request is checked by */
  constructor(readonly guess: Guess = guesses()) {}

  /** Adds an error; its message is made only when it is reported. */
  add(word: (guess: Guess) => Refusal): void {
    if (this.#reported.length < MAX_REPORTED) this.#reported.push(word(this.guess));
    else this.#others++;
  }

  get isEmpty(): boolean {
    return this.#reported.length === 0;
  }

  /** Throws QueryRefused when anything is wrong. */
  check(): void {
    if (!this.isEmpty) throw new QueryRefused(this.list());
  }

  list(): readonly Refusal[] {
    if (this.#others === 0) return this.#reported;
    return [...this.#reported, refusal(ErrorCode.INVALID_QUERY, `and ${this.#others.toLocaleString("en")} more`)];
  }
}
