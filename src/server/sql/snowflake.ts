/** Snowflake as a source, read only, over its SQL API. */

import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { withoutTerminator } from "../../domain/sql/statement.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { unlessAborted } from "../unless-aborted.ts";
import { jsonObject, plain } from "../web-answer.ts";
import type { ColumnType } from "./condition.ts";
import { refuseAllButQuery } from "./only-query.ts";
import { snowflakeClaim } from "./signed-claims.ts";
import { ParameterError, SqlError } from "./source.ts";
import type { SourceDriver, SourceSettings } from "./source-driver.ts";
import { utf16Offset, wordOffset } from "./statement-text.ts";
import {
  MAX_ROWS_BYTES,
  pauseFor,
  STATEMENT_TIMEOUT_MS,
  type WebAnswer,
  type WebColumn,
  type WebRequest,
  type WebRows,
  WebSource,
} from "./web-source.ts";
import { boolOf, dateOfDays, floatOf, instantOfSeconds, integerOf, jsonValue } from "./web-values.ts";

/** Seconds that a signed token counts, and before whose end another one is made. */
const TOKEN_SECONDS = 3_000;
const RENEW_BEFORE_SECONDS = 300;
/** Pauses between two looks whether a statement has ended: they grow. */
const FIRST_LOOK_MS = 20;
const LONGEST_LOOK_MS = 2_000;
/** Longest that the cancelling of a statement may take. */
const CANCEL_MS = 10_000;

/** Where an account is, and who asks it. */
interface SnowflakeSettings {
  readonly url: URL;
  readonly account: string;
  readonly user: string;
  /** Private key in PEM; undefined when there is a token. */
  readonly key: string | undefined;
  readonly token: string | undefined;
  /** Warehouse, database, schema and role, as far as they are given. */
  readonly scope: Readonly<Record<string, string>>;
}

/** A column as the API describes it. */
interface RowType {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly scale?: unknown;
}

/** An answer of the API. */
interface Answer {
  readonly statementHandle?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly data?: unknown;
  readonly resultSetMetaData?: { readonly rowType?: readonly RowType[]; readonly partitionInfo?: readonly unknown[] };
}

/** A Snowflake database. Statements are checked to be queries, because no session is read only. */
export class SnowflakeSource extends WebSource {
  readonly kind = SourceKind.SNOWFLAKE;
  readonly #settings: SnowflakeSettings;
  #signed: { readonly token: string; readonly until: number } | undefined;

  constructor(name: string, settings: SnowflakeSettings) {
    super(name, `Snowflake at ${settings.url.host}, user '${settings.user}'`, [settings.key ?? "", settings.token ?? ""]);
    this.#settings = settings;
  }

  quote(identifier: string): string {
    return `"${identifier.replaceAll('"', '""')}"`;
  }

  placeholder(_position: number, type?: "float"): string {
    return type === "float" ? "(?::double)" : "?";
  }

  protected async run(statement: string, parameters: readonly FeatureValue[], signal: AbortSignal): Promise<WebRows> {
    refuseAllButQuery(statement, this.dialect);
    return this.#execute(withoutTerminator(statement, this.dialect), parameters, statement, 0, signal);
  }

  protected async columns(statement: string, parameters: number, signal: AbortSignal): Promise<readonly WebColumn[]> {
    refuseAllButQuery(statement, this.dialect);
    const before = "select * from (";
    const nulls = new Array<FeatureValue>(parameters).fill(null);
    return (await this.#execute(`${before}${statement}\n) where false`, nulls, statement, before.length, signal)).columns;
  }

  /** @param shift number of characters in `sent` before the statement */
  async #execute(
    sent: string,
    parameters: readonly FeatureValue[],
    statement: string,
    shift: number,
    signal: AbortSignal,
  ): Promise<WebRows> {
    const bindings = Object.fromEntries(parameters.map((value, at) => [String(at + 1), binding(value, at)]));
    const body = JSON.stringify({
      statement: sent,
      timeout: STATEMENT_TIMEOUT_MS / 1000,
      ...this.#settings.scope,
      ...(parameters.length > 0 && { bindings }),
      parameters: { TIMEZONE: "UTC", MULTI_STATEMENT_COUNT: "1" },
    });
    const begun = await this.#begun(body, signal);
    const handle = handleOf(begun);
    const onAbort = (): void => void this.#cancel(handle);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const first = await this.#ended(begun, handle, signal);
      if (first.status !== 200) throw this.#refusal(first, statement, shift);
      return await this.#rows(first.answer, handle, signal);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /**
   * The answer to the beginning of a statement. Who gives up while it begins does not end the
   * request, whose answer alone says what there is to cancel.
   */
  async #begun(body: string, signal: AbortSignal): Promise<Asked> {
    signal.throwIfAborted();
    const begun = this.#ask("?async=true", { method: "POST", body }, AbortSignal.timeout(STATEMENT_TIMEOUT_MS), undefined, signal);
    const asked = await unlessAborted(begun, signal);
    if (asked) return asked;
    begun.then(
      (late) => this.#cancel(handleOf(late)),
      () => undefined,
    );
    throw signal.reason;
  }

  async #ended(begun: Asked, handle: string | undefined, signal: AbortSignal): Promise<Asked> {
    let asked = begun;
    for (let pause = FIRST_LOOK_MS; asked.status === 202; pause = Math.min(pause * 2, LONGEST_LOOK_MS)) {
      if (handle === undefined) throw this.failure("it named no handle of the statement");
      await pauseFor(pause, signal);
      asked = await this.#ask(`/${encodeURIComponent(handle)}`, { method: "GET" }, signal);
    }
    return asked;
  }

  async #rows({ resultSetMetaData, data }: Answer, handle: string | undefined, signal: AbortSignal): Promise<WebRows> {
    const columns = (resultSetMetaData?.rowType ?? []).map(snowflakeColumn);
    const rows = Array.isArray(data) ? [...(data as unknown[][])] : [];
    let room = MAX_ROWS_BYTES;
    for (let partition = 1; partition < (resultSetMetaData?.partitionInfo?.length ?? 0); partition++) {
      const part = await this.#ask(`/${encodeURIComponent(handle ?? "")}?partition=${partition}`, { method: "GET" }, signal, room);
      if (part.status !== 200 || !Array.isArray(part.answer.data)) throw this.#refusal(part, "", 0);
      room -= part.bytes;
      for (const row of part.answer.data as unknown[][]) rows.push(row);
    }
    return { columns, rows };
  }

  async #ask(path: string, request: WebRequest, signal: AbortSignal, room?: number, patience?: AbortSignal): Promise<Asked> {
    const { url, key } = this.#settings;
    const headers = {
      authorization: `Bearer ${await this.#token()}`,
      "x-snowflake-authorization-token-type": key ? "KEYPAIR_JWT" : "PROGRAMMATIC_ACCESS_TOKEN",
      accept: "application/json",
      "user-agent": "svc",
      ...(request.body !== undefined && { "content-type": "application/json" }),
    };
    const target = new URL(`/api/v2/statements${path}`, url);
    const answer: WebAnswer = await this.callPatiently(target, { ...request, headers }, signal, room, patience);
    return { status: answer.status, bytes: answer.text.length, answer: jsonObject(answer.text) ?? { message: answer.text } };
  }

  async #cancel(handle: string | undefined): Promise<void> {
    if (handle === undefined) return;
    const path = `/${encodeURIComponent(handle)}/cancel`;
    await this.#ask(path, { method: "POST" }, AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
  }

  async #token(): Promise<string> {
    const { account, user, key, token } = this.#settings;
    if (!key) return token ?? "";
    const now = Math.floor(Date.now() / 1000);
    if (this.#signed && this.#signed.until - RENEW_BEFORE_SECONDS > now) return this.#signed.token;
    try {
      const signed = await snowflakeClaim(account, user, key, now, TOKEN_SECONDS);
      this.#signed = { token: signed, until: now + TOKEN_SECONDS };
      return signed;
    } catch {
      throw this.failure("the private key is no RSA key in PKCS#8 PEM without a passphrase");
    }
  }

  #refusal({ status, answer }: Asked, statement: string, shift: number): SqlError {
    const words = plain(typeof answer.message === "string" ? answer.message : "");
    if (status !== 422 && status !== 408) return this.failure(`it answered ${status}${words === "" ? "" : `: ${words}`}`);
    const [, line, position] = /error line (\d+) at position (\d+)/.exec(words) ?? [];
    const quoted = /(?:invalid identifier|unexpected|Object) '(?:[^'.]+\.)*"?([^'."]+)"?'/i.exec(words)?.[1];
    const offset = line === undefined ? undefined : placeOf(statement, Number(line), Number(position) - (line === "1" ? shift : 0));
    const isData = /^(?:1000(?:35|38|40|46|69|71|78|96)|100132)$/.test(String(answer.code));
    return new SqlError(
      this.withoutSecrets(words),
      offset ?? (quoted ? wordIn(statement, quoted) : undefined),
      isData ? "data" : "statement",
    );
  }
}

/** An answer with its status. */
interface Asked {
  readonly status: number;
  readonly bytes: number;
  readonly answer: Answer;
}

function handleOf({ answer }: Asked): string | undefined {
  return typeof answer.statementHandle === "string" ? answer.statementHandle : undefined;
}

/** The offset of a line, from 1, and a position in it, from 0. */
function placeOf(statement: string, line: number, position: number): number | undefined {
  const lines = statement.split("\n");
  const text = lines[line - 1];
  const within = text === undefined || position < 0 ? undefined : utf16Offset(text, position);
  return within === undefined ? undefined : lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, within);
}

/** Names that are not quoted are upper case to Snowflake. */
function wordIn(statement: string, name: string): number | undefined {
  return wordOffset(statement, name) ?? wordOffset(statement.toUpperCase(), name);
}

/** A value as a binding, which is text. */
function binding(value: FeatureValue, position: number): { readonly type: string; readonly value: string | null } {
  switch (typeof value) {
    case "boolean":
      return { type: "BOOLEAN", value: String(value) };
    case "bigint":
      return { type: "FIXED", value: String(value) };
    case "number":
      if (Number.isFinite(value)) return { type: Number.isSafeInteger(value) ? "FIXED" : "REAL", value: String(value) };
      return { type: "REAL", value: Number.isNaN(value) ? "NaN" : value > 0 ? "inf" : "-inf" };
    case "string":
      return { type: "TEXT", value };
    default:
      if (value === null) return { type: "TEXT", value: null };
      if (value instanceof Uint8Array) return { type: "BINARY", value: Buffer.from(value).toString("hex") };
      throw new ParameterError(position, "is no single value, and statements of Snowflake are given none but those");
  }
}

function snowflakeColumn({ name, type, scale }: RowType): WebColumn {
  const written = String(type).toLowerCase();
  const isWhole = written === "fixed" && Number(scale ?? 0) === 0;
  return {
    name: String(name),
    type: { name: written === "fixed" ? "number" : written },
    comparable: isWhole ? "int" : COMPARABLE[written],
    read: isWhole ? integerOf : (READERS[written] ?? ((value) => value)),
  };
}

const COMPARABLE: Readonly<Record<string, ColumnType>> = {
  fixed: "decimal",
  real: "float",
  text: "text",
  boolean: "bool",
  date: "date",
  timestamp_ntz: "timestamp",
  timestamp_ltz: "timestamptz",
  timestamp_tz: "timestamptz",
};

const READERS: Readonly<Record<string, (value: unknown) => unknown>> = {
  real: floatOf,
  boolean: boolOf,
  date: dateOfDays,
  timestamp_ntz: instantOfSeconds,
  timestamp_ltz: instantOfSeconds,
  timestamp_tz: instantOfSeconds,
  time: (value) => (typeof value === "string" ? `${instantOfSeconds(value)}`.slice(11, 26) : value),
  binary: (value) => (typeof value === "string" ? new Uint8Array(Buffer.from(value, "hex")) : value),
  variant: jsonValue,
  object: jsonValue,
  array: jsonValue,
};

function readSettings({ name, prefix, read }: SourceSettings): SnowflakeSettings {
  const needed = (variable: string, key: string): string => {
    const value = read(variable, key);
    if (!value) throw new SqlError(`source '${name}' has no ${key}: give \`${key}=\` in code or set ${prefix}_${variable}`);
    return value;
  };
  const account = needed("SNOWFLAKE_ACCOUNT", "account");
  if (!/^[A-Za-z0-9._-]+$/.test(account)) throw new SqlError(`source '${name}': ${prefix}_SNOWFLAKE_ACCOUNT is no account identifier`);
  const user = needed("SNOWFLAKE_USER", "user");
  const [key, token] = [read("SNOWFLAKE_PRIVATE_KEY", "private_key"), read("SNOWFLAKE_TOKEN", "token")];
  if (!key && !token)
    throw new SqlError(
      `source '${name}' has no credentials: set ${prefix}_SNOWFLAKE_PRIVATE_KEY or ${prefix}_SNOWFLAKE_TOKEN; Snowflake's SQL API takes no password`,
    );
  const url = URL.parse(read("SNOWFLAKE_ENDPOINT_URL", "endpoint_url") ?? `https://${account.replaceAll("_", "-")}.snowflakecomputing.com`);
  if (!url) throw new SqlError(`source '${name}': ${prefix}_SNOWFLAKE_ENDPOINT_URL is no address`);
  const scope = ["warehouse", "database", "schema", "role"].flatMap((one) => {
    const value = read(`SNOWFLAKE_${one.toUpperCase()}`, one);
    return value ? [[one, value]] : [];
  });
  return { url, account, user, key, token, scope: Object.fromEntries(scope) };
}

/** The driver of Snowflake, configured by `<NAME>_SNOWFLAKE_ACCOUNT` and so on, or in code. */
export const snowflakeDriver: SourceDriver = {
  kind: SourceKind.SNOWFLAKE,
  names: ["snowflake"],
  variable: "SNOWFLAKE_ACCOUNT",
  open: (settings) => new SnowflakeSource(settings.name, readSettings(settings)),
};
