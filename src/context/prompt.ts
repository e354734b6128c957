/**
 * Questions to the user, on stderr, answered on stdin (conventions `confirmation`,
 * `interactive_pick`).
 */
export interface Prompt {
  /**
   * Asks `question [y/n]`; y or yes is true, anything else false; AbortedError at the end of file.
   * A pipe may answer.
   */
  confirm(question: string): Promise<boolean>;
  /**
   * A secret, such as a client secret: asked for on a terminal, without echo, else all of stdin,
   * without the newline at its end. Throws a UsageError when nothing came, or what cannot be a
   * secret: more than a line, or more than 64 KiB.
   */
  secret(what: string): Promise<string>;
  /** Asks for one of several on a terminal; without one throws a UsageError that names `flag`. */
  pick<T>(question: string, options: readonly { label: string; value: T; hint?: string }[], flag: string): Promise<T>;
}

/**
 * What is going on, on stderr: a spinner on a terminal, nothing or a line elsewhere, silent with
 * `--json`.
 */
export interface Progress {
  /**
   * Runs `work` under a label, behind which it may say what it is just doing. The label alone stays
   * with a mark when done: a cross when `work` throws, or gave what `failed` says is no success,
   * and then the seconds when it took more than two.
   */
  step<T>(label: string, work: (say: (doing: string) => void) => Promise<T>, failed?: (result: T) => boolean): Promise<T>;
  /** One line of information on stderr (kept with --json off only). */
  note(text: string): void;
  /** A warning on stderr, always. */
  warn(text: string): void;
  /** Shown with -v. */
  verbose(text: string): void;
  /** Shown with -vv; secrets must be redacted by the caller. */
  debug(text: string): void;
}
