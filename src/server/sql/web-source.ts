/**
 * The common part of sources that are asked over HTTP: bounds of time and size, what failures say,
 * and that no secret is in them.
 */

import type { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import { dialectOfKind } from "../../domain/sql/dialect.ts";
import { countParameters, withoutTerminator } from "../../domain/sql/statement.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { answerBytes, askedPauseMs } from "../web-answer.ts";
import type { ColumnType } from "./condition.ts";
import { SqlError, type SqlResult, type SqlSource, type SqlType } from "./source.ts";
import { withTraceparent } from "./traceparent-comment.ts";

/** A column of an answer. */
export interface WebColumn {
  readonly name: string;
  readonly type: SqlType;
  /** The type for comparisons; undefined when it cannot be compared. */
  readonly comparable: ColumnType | undefined;
  /** A value in the form of `SqlResult`, of one that is not null. */
  readonly read: (value: unknown) => unknown;
}

/** An answer as the system gave it. */
export interface WebRows {
  readonly columns: readonly WebColumn[];
  readonly rows: readonly (readonly unknown[])[];
}

/** A request to the system. */
export interface WebRequest {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The answer to a request. */
export interface WebAnswer {
  readonly status: number;
  readonly text: string;
  /** The header of that name. */
  readonly retryAfter: string | null;
}

/** Most bytes of the rows of one statement, as the system writes them. */
export const MAX_ROWS_BYTES = 256 * 1024 * 1024;
/** Longest that a statement runs. */
export const STATEMENT_TIMEOUT_MS = 10 * 60_000;

/** Statuses of a system that has no room or is away for a while. */
const PASSING: ReadonlySet<number> = new Set([429, 503]);
/** Most times that a request is sent to such a system. */
const MAX_TRIES = 6;
/** The first pause between two of them, which doubles, and the longest that may be asked for. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 60_000;

/** Waits; rejects with the signal's reason when it is aborted. */
export function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** A source over HTTP. */
export abstract class WebSource implements SqlSource {
  abstract readonly kind: SourceKind;
  readonly #closing = new AbortController();

  /**
   * @param place what messages call the system, for example `ClickHouse at host:8443`
   * @param secrets texts that no message may have
   */
  constructor(
    readonly name: string,
    protected readonly place: string,
    private readonly secrets: readonly string[],
  ) {}

  abstract quote(identifier: string): string;
  abstract placeholder(position: number, type?: "float"): string;

  /**
   * Has the system run a statement and reads all of its rows. When the signal is aborted, the
   * statement is cancelled there, and the call rejects.
   */
  protected abstract run(statement: string, parameters: readonly FeatureValue[], signal: AbortSignal): Promise<WebRows>;
  /** The columns of a statement, which is not run. */
  protected abstract columns(statement: string, parameters: number, signal: AbortSignal): Promise<readonly WebColumn[]>;

  async query(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal, traceparent?: string): Promise<SqlResult> {
    const sent = traceparent === undefined ? statement : withTraceparent(statement, this.dialect, traceparent);
    const { columns, rows } = await this.#bounded(signal, (limited) => this.run(sent, parameters, limited));
    return {
      columns: columns.map(({ name }) => name),
      types: columns.map(({ type }) => type),
      rows: rows.map((row) => columns.map(({ read }, at) => (row[at] === null || row[at] === undefined ? null : read(row[at])))),
    };
  }

  async describe(statement: string): Promise<readonly string[]> {
    return (await this.#described(statement)).map(({ name }) => name);
  }

  async columnTypes(statement: string): Promise<ReadonlyMap<string, ColumnType>> {
    const columns = await this.#described(statement);
    const found = new Map<string, ColumnType>();
    for (const { name, comparable } of columns)
      if (comparable !== undefined && columns.filter((one) => one.name === name).length === 1) found.set(name, comparable);
    return found;
  }

  async test(): Promise<void> {
    await this.query("select 1", []);
  }

  async close(): Promise<void> {
    this.#closing.abort(new SqlError(`source '${this.name}' is closed`));
  }

  /** The statement's dialect. */
  protected get dialect() {
    return dialectOfKind(this.kind);
  }

  /**
   * Sends a request and reads its answer, whatever the status. Throws SqlError when the system
   * cannot be reached, sends elsewhere, or answers more than `MAX_ROWS_BYTES`. A request whose
   * connection is lost is sent once more: all of them only read.
   */
  protected async call(url: URL, request: WebRequest, signal: AbortSignal, room = MAX_ROWS_BYTES): Promise<WebAnswer> {
    const send = async () => {
      const answer = await fetch(url, { ...request, headers: { ...request.headers }, redirect: "manual", signal });
      return { answer, bytes: await answerBytes(answer, room) };
    };
    const { answer, bytes } = await send()
      .catch(() => {
        signal.throwIfAborted();
        return send();
      })
      .catch((error: unknown) => {
        signal.throwIfAborted();
        throw this.failure(errorText(error));
      });
    if (bytes === undefined)
      throw new SqlError(
        `${this.place} answered more than ${MAX_ROWS_BYTES / 1024 ** 2} MiB; select fewer columns, or add a \`limit\` or a condition`,
        undefined,
        "data",
      );
    if (answer.status >= 300 && answer.status < 400)
      throw this.failure(`it answered ${answer.status}, and credentials are not sent on to another address`);
    return { status: answer.status, text: new TextDecoder().decode(bytes), retryAfter: answer.headers.get("retry-after") };
  }

  /**
   * The same, for systems that answer 429 or 503 to what may be asked again: after the pause that
   * `Retry-After` says, else after one that doubles, of which at least half is waited. The last
   * answer is given when a system asks for longer, or stays as it is.
   *
   * @param patience when aborted, no pause is waited for any more; `signal` ends requests too
   */
  protected async callPatiently(
    url: URL,
    request: WebRequest,
    signal: AbortSignal,
    room?: number,
    patience: AbortSignal = signal,
  ): Promise<WebAnswer> {
    for (let tries = 1; ; tries++) {
      const answer = await this.call(url, request, signal, room);
      if (!PASSING.has(answer.status) || tries === MAX_TRIES) return answer;
      const asked = askedPauseMs(answer.retryAfter);
      if (asked !== undefined && asked > LONGEST_PAUSE_MS) return answer;
      patience.throwIfAborted();
      await pauseFor(asked ?? FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random() / 2), patience);
    }
  }

  /** The error of a system that cannot be used, without its secrets. */
  protected failure(problem: string): SqlError {
    return new SqlError(`source '${this.name}': ${this.place}: ${this.withoutSecrets(problem)}`);
  }

  /** A text without the source's secrets. */
  protected withoutSecrets(text: string): string {
    return this.secrets.reduce((safe, secret) => (secret === "" ? safe : safe.replaceAll(secret, "***")), text);
  }

  #described(statement: string): Promise<readonly WebColumn[]> {
    return this.#bounded(undefined, (signal) =>
      this.columns(withoutTerminator(statement, this.dialect), countParameters(statement, this.dialect), signal),
    );
  }

  async #bounded<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const timeout = new AbortController();
    const timer = setTimeout(
      () => timeout.abort(new SqlError(`${this.place} took longer than ${STATEMENT_TIMEOUT_MS / 60_000} minutes for a statement`)),
      STATEMENT_TIMEOUT_MS,
    );
    const limited = AbortSignal.any([this.#closing.signal, timeout.signal, ...(signal ? [signal] : [])]);
    try {
      limited.throwIfAborted();
      return await work(limited);
    } finally {
      clearTimeout(timer);
    }
  }
}
