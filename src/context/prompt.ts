/**
 * Questions to the user, on stderr, answered on stdin (conventions `confirmation`,
 * `interactive_pick`).
 */
export interface Prompt {
  /**
   * Asks `question [y/n]`; y or yes is true, anything else false. Rejects with AbortedError at the
   * end of file. The answer may come from a pipe.
   */
  confirm(question: string): Promise<boolean>;
  /**
   * A secret, such as a client secret: on a terminal typed without echo, else all of stdin without
   * the newline at its end. Throws a UsageError for an empty or impossible secret: more than one
   * line, or more than 64 KiB.
   */
  secret(what: string): Promise<string>;
  /**
   * A line of text, typed on a terminal; without one throws a UsageError that names `flag`. May be
   * empty.
   */
  text(what: string, flag: string): Promise<string>;
  /**
   * The user's choice among several options, on a terminal; without one throws a UsageError that
   * names `flag`. Options that take a call are a function, which is called only on a terminal.
   */
  pick<T>(question: string, options: Options<T> | (() => Promise<Options<T>>), flag: string): Promise<T>;
  /**
   * The user's choice of one or more options, which can be searched by typing; else the same as
   * `pick`.
   */
  pickMany<T>(question: string, options: Options<T> | (() => Promise<Options<T>>), flag: string): Promise<readonly T[]>;
}

/** What a user can pick from. */
export type Options<T> = readonly { readonly label: string; readonly value: T; readonly hint?: string }[];

/**
 * Progress on stderr: a spinner on a terminal, nothing or a line elsewhere, silent with `--json`.
 */
export interface Progress {
  /**
   * Runs `work` under a label, after which `work` may show its current activity. When it ends, the
   * label stays with a mark: a cross when `work` throws or `failed` says that its result is a
   * failure; then also the duration, when it exceeds two seconds.
   */
  step<T>(label: string, work: (say: (doing: string) => void) => Promise<T>, failed?: (result: T) => boolean): Promise<T>;
  /** One line of information on stderr; none with --json. */
  note(text: string): void;
  /** A warning on stderr, always. */
  warn(text: string): void;
  /** Shown with -v. */
  verbose(text: string): void;
  /** Shown with -vv; secrets must be redacted by the caller. */
  debug(text: string): void;
}
