/** ClickHouse as a source, read only, over its HTTP interface. */

import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { withoutTerminator } from "../../domain/sql/statement.ts";
import { SqlScanner } from "../../domain/sql/tokenize.ts";
import { type FeatureValue, parseExactJson } from "../../domain/value.ts";
import { plain } from "../web-answer.ts";
import { clickhouseColumn, clickhouseParameter } from "./clickhouse-values.ts";
import { SqlError } from "./source.ts";
import type { SourceDriver, SourceSettings } from "./source-driver.ts";
import { wordOffset } from "./statement-text.ts";
import { STATEMENT_TIMEOUT_MS, type WebColumn, type WebRows, WebSource } from "./web-source.ts";

const FORMAT = "JSONCompactEachRowWithNamesAndTypes";
/**
 * Settings of every statement: it may only read, ends when its caller goes, its rows come when all
 * of them are there, and values lose nothing.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  readonly: "2",
  cancel_http_readonly_queries_on_client_close: "1",
  wait_end_of_query: "1",
  max_execution_time: String(STATEMENT_TIMEOUT_MS / 1000),
  output_format_json_quote_64bit_integers: "0",
  output_format_json_quote_decimals: "1",
  output_format_json_quote_denormals: "1",
  date_time_output_format: "iso",
  default_format: FORMAT,
};
/** Messages that quote the faulty part of the statement. */
const QUOTED = [
  /failed at position \d+ \((?:`|'|")?([^`'")\s]+)/,
  /identifier [`']([^`']+)[`']/,
  /function (?:with name )?[`']([^`']+)[`']/i,
];
/** Codes of faults of values that were read: conversions, overflows, sizes. */
const DATA_CODES: ReadonlySet<number> = new Set([6, 27, 38, 41, 69, 72, 153, 190, 407]);
/** Codes of what is wrong with the account: unknown users, passwords, rights. */
const ACCESS_CODES: ReadonlySet<number> = new Set([81, 192, 193, 194, 497, 516]);

/** Where a server is, and who asks it. */
interface ClickhouseSettings {
  readonly url: URL;
  readonly user: string;
  readonly password: string;
  readonly database: string | undefined;
}

/**
 * A ClickHouse database. A scalar subquery of a statement is computed by the server even where it
 * only describes the statement.
 */
export class ClickhouseSource extends WebSource {
  readonly kind = SourceKind.CLICKHOUSE;
  readonly #settings: ClickhouseSettings;

  constructor(name: string, settings: ClickhouseSettings) {
    super(name, `ClickHouse at ${settings.url.host}, user '${settings.user}'`, [settings.password]);
    this.#settings = settings;
  }

  quote(identifier: string): string {
    return `\`${identifier.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
  }

  placeholder(position: number, type?: "float"): string {
    return type === "float" ? `toFloat64($${position})` : `$${position}`;
  }

  protected async run(statement: string, parameters: readonly FeatureValue[], signal: AbortSignal): Promise<WebRows> {
    const [names, types, ...rows] = await this.#lines(statement, statement, parameters, signal);
    if (!names || !types)
      throw this.failure(`it answered something else than ${FORMAT}; the statement has to be a query without \`format\``);
    return { columns: names.map((name, at) => clickhouseColumn(String(name), String(types[at]))), rows };
  }

  protected async columns(statement: string, parameters: number, signal: AbortSignal): Promise<readonly WebColumn[]> {
    const nulls = new Array<FeatureValue>(parameters).fill(null);
    const [, , ...rows] = await this.#lines(`describe (${statement}\n)`, statement, nulls, signal);
    return rows.map(([name, type]) => clickhouseColumn(String(name), String(type)));
  }

  async #lines(sent: string, statement: string, parameters: readonly FeatureValue[], signal: AbortSignal): Promise<unknown[][]> {
    const { url, user, password, database } = this.#settings;
    const target = new URL(url);
    for (const [setting, value] of Object.entries(SETTINGS)) target.searchParams.set(setting, value);
    if (database !== undefined) target.searchParams.set("database", database);
    const bound = parameters.map(clickhouseParameter);
    const { body, type } = form([
      ["query", withTypes(withoutTerminator(sent, this.dialect), bound)],
      ...bound.map(({ text }, at): [string, string] => [`param_svc_${at + 1}`, text]),
    ]);
    const headers = { "content-type": type, "x-clickhouse-user": user, ...(password !== "" && { "x-clickhouse-key": password }) };
    const { status, text } = await this.call(target, { method: "POST", headers, body }, signal);
    if (status !== 200) throw this.#refusal(status, text, statement);
    try {
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => parseExactJson(line) as unknown[]);
    } catch {
      throw this.failure(`it answered something else than ${FORMAT}; the statement has to be a query without \`format\``);
    }
  }

  #refusal(status: number, text: string, statement: string): SqlError {
    const [, code, message] = /Code: (\d+)\. (?:DB::Exception: )?([\s\S]*)/.exec(text) ?? [];
    const words = plain(message ?? text);
    if (/Cannot modify '\w+' setting in readonly mode/.test(words))
      return this.failure(
        "its user may change no settings: give the user `readonly = 2` in place of 1, which still lets nothing be written",
      );
    if (code === undefined || ACCESS_CODES.has(Number(code))) return this.failure(`it answered ${status}: ${words}`);
    let offset: number | undefined;
    for (const pattern of QUOTED) {
      const quoted = pattern.exec(words)?.[1];
      offset ??= quoted ? wordOffset(statement, quoted) : undefined;
    }
    return new SqlError(this.withoutSecrets(words), offset, DATA_CODES.has(Number(code)) ? "data" : "statement");
  }
}

/** Fields as a form of several parts. `FormData` would end the lines of texts with `\r\n`. */
function form(fields: readonly (readonly [name: string, text: string])[]): { readonly body: string; readonly type: string } {
  const boundary = `svc-${crypto.randomUUID()}`;
  const parts = fields.map(([name, text]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`);
  return { body: `${parts.join("")}--${boundary}--\r\n`, type: `multipart/form-data; boundary=${boundary}` };
}

/**
 * A statement whose placeholders `$n` name the types of the values that are sent for them:
 * `{svc_1:Int64}`.
 */
function withTypes(statement: string, bound: readonly { readonly type: string }[]): string {
  const scanner = new SqlScanner(statement, "clickhouse");
  let text = "";
  let from = 0;
  let dollarAt = -1;
  while (scanner.next()) {
    const { kind, start, end } = scanner;
    if (kind === "number" && start - 1 === dollarAt) {
      const parameter = bound[Number(statement.slice(start, end)) - 1];
      if (parameter) {
        text += `${statement.slice(from, dollarAt)}{svc_${statement.slice(start, end)}:${parameter.type}}`;
        from = end;
      }
    }
    dollarAt = kind === "punctuation" && statement[start] === "$" ? start : -1;
  }
  return text + statement.slice(from);
}

function readSettings({ name, prefix, read }: SourceSettings): ClickhouseSettings {
  const host = read("CLICKHOUSE_HOST", "host") ?? "localhost";
  const secure = read("CLICKHOUSE_SECURE", "secure")?.toLowerCase() ?? "true";
  if (secure !== "true" && secure !== "false")
    throw new SqlError(`source '${name}': ${prefix}_CLICKHOUSE_SECURE is neither true nor false`);
  const port = read("CLICKHOUSE_PORT", "port") ?? (secure === "true" ? "8443" : "8123");
  const url = URL.parse(`${secure === "true" ? "https" : "http"}://${host}:${port}/`);
  if (url?.pathname !== "/" || url.username !== "")
    throw new SqlError(`source '${name}': ${prefix}_CLICKHOUSE_HOST and ${prefix}_CLICKHOUSE_PORT are no host and port`);
  return {
    url,
    user: read("CLICKHOUSE_USER", "user") ?? "default",
    password: read("CLICKHOUSE_PASSWORD", "password") ?? "",
    database: read("CLICKHOUSE_DATABASE", "database"),
  };
}

/** The driver of ClickHouse, configured by `<NAME>_CLICKHOUSE_HOST` and so on, or in code. */
export const clickhouseDriver: SourceDriver = {
  kind: SourceKind.CLICKHOUSE,
  names: ["clickhouse"],
  variable: "CLICKHOUSE_HOST",
  open: (settings) => new ClickhouseSource(settings.name, readSettings(settings)),
};
