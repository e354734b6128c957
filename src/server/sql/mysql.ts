/** MySQL and MariaDB as a source, read only, through the runtime's driver. */

import { SQL } from "bun";
import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";
import type { ReadSetting } from "./create-sources.ts";
import { MysqlConnections } from "./mysql-connections.ts";
import { columnType, isText, type MysqlColumn, needsText, sqlType, valueReader } from "./mysql-values.ts";
import { connectionFailure, type DriverRows } from "./server-connection.ts";
import { ParameterError, SqlError, type SqlResult, type SqlSource, type SqlType } from "./source.ts";
import { comparable, countParameters, withoutTerminator, wordOffset } from "./statement-text.ts";
import { type TlsMode, tlsMode, tlsOptions } from "./tls.ts";

/** How a MySQL source is reached. */
export interface MysqlSettings {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: TlsMode;
  /** File with certificates of authorities to trust, PEM; undefined = the system's. */
  readonly rootCertificate?: string;
}

const CONNECTIONS = 4;
const CONNECT_SECONDS = 10;
const MAX_STATEMENTS = 1_000;
/** As the manual says it: a limit that is none. */
const ALL_ROWS = "18446744073709551615";
const CONNECTION_LOST = "ERR_MYSQL_CONNECTION_CLOSED";
/** Errors that bound values make: text that a column's character set lacks, times that are none. */
const BOUND_VALUE: ReadonlySet<number> = new Set([1267, 1270, 1271, 1525]);
/** The class of SQLSTATE codes that are about values. */
const DATA_EXCEPTION = /^22/;
/** What is written behind a statement that stands in parentheses, where MySQL quotes it. */
const WRAPPER_END = /\n\) as svc_statement[\s\S]*?(?=' at line \d+$)/;
/** Messages that quote the part of the statement at fault. */
const QUOTED = [/near '([\s\S]+)' at line \d+$/, /^Unknown column '(?:[^'.]+\.)*([^'.]+)'/, /^Table '(?:[^'.]+\.)*([^'.]+)' doesn't exist/];

/** Settings of a source from its environment variables (`<NAME>_MYSQL_HOST` and so on) and from code. Throws SqlError. */
export function mysqlSettings(name: string, prefix: string, read: ReadSetting): MysqlSettings {
  const port = Number(read("MYSQL_PORT", "port") ?? 3306);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new SqlError(`source '${name}': ${prefix}_MYSQL_PORT is no port number`);
  const database = read("MYSQL_DATABASE", "database");
  if (!database) throw new SqlError(`source '${name}' has no database: give \`database=\` in code or set ${prefix}_MYSQL_DATABASE`);
  const rootCertificate = read("MYSQL_SSL_CA", "ssl_ca");
  return {
    host: read("MYSQL_HOST", "host") ?? "localhost",
    port,
    user: read("MYSQL_USER", "user") ?? "root",
    password: read("MYSQL_PASSWORD", "password") ?? "",
    database,
    tls: tlsMode(name, `${prefix}_MYSQL_SSLMODE`, read("MYSQL_SSLMODE", "sslmode") ?? "prefer"),
    ...(rootCertificate === undefined ? {} : { rootCertificate }),
  };
}

/** What is known of a statement: the text that loses nothing, and how its columns are read. */
interface Described {
  readonly text: string;
  readonly columns: readonly string[];
  /** Undefined for a column that is asked for as text. */
  readonly types: readonly (number | undefined)[];
  /** The types of the statement's own columns. */
  readonly declared: readonly number[];
  readonly named: readonly (SqlType | undefined)[];
  readonly readers: readonly ((value: unknown) => unknown)[];
}

/** A MySQL or MariaDB database. Connects on first use, and again after the server was away. */
export class MysqlSource implements SqlSource {
  readonly kind = SourceKind.MYSQL;
  private readonly described = new Map<string, Described>();
  private connections: MysqlConnections | undefined;
  private closed = false;

  constructor(
    readonly name: string,
    private readonly settings: MysqlSettings,
  ) {}

  quote(identifier: string): string {
    return `\`${identifier.replaceAll("`", "``")}\``;
  }

  placeholder(_position: number, type?: "float"): string {
    return type === "float" ? "(? + 0e0)" : "?";
  }

  /**
   * Rows come in the statement's order, except when it begins with `with` and has a column of JSON or of instants with microseconds: then `order by`
   * needs a `limit` beside it.
   */
  async query(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal): Promise<SqlResult> {
    for (const [position, value] of parameters.entries())
      if (typeof value === "number" && !Number.isFinite(value))
        throw new ParameterError(position, `is ${value}, and MySQL has no such number`);
    for (let attempt = 0; ; attempt++) {
      const plan = this.described.get(statement) ?? (await this.learn(statement, parameters, signal));
      const rows = await this.run(plan.text, parameters, statement, signal);
      if (!sameTypes(plan, rows) && attempt === 0) {
        this.described.delete(statement);
        continue;
      }
      for (const row of rows.rows) for (const [column, read] of plan.readers.entries()) row[column] = read(row[column]);
      return { columns: plan.columns, types: plan.named, rows: rows.rows };
    }
  }

  async describe(statement: string): Promise<readonly string[]> {
    const nothing = new Array<FeatureValue>(countParameters(statement)).fill(null);
    return (await this.learn(statement, nothing)).columns;
  }

  async columnTypes(statement: string): Promise<ReadonlyMap<string, ColumnType>> {
    const nothing = new Array<FeatureValue>(countParameters(statement)).fill(null);
    const { columns, declared } = this.described.get(statement) ?? (await this.learn(statement, nothing));
    return comparable(columns, declared, columnType);
  }

  async test(): Promise<void> {
    await this.run("select 1", [], "select 1");
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.connections?.close();
    this.connections = undefined;
  }

  /** Has the server plan a statement without reading rows. The parameter makes the server refuse more than one statement. */
  private async learn(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal): Promise<Described> {
    const body = withoutTerminator(statement);
    const { columns } = await this.run(
      `select * from (${body}\n) as svc_statement where ? limit 0`,
      [...parameters, false],
      statement,
      signal,
    );
    const names = columns.map(({ name }) => name);
    const readers = columns.map(valueReader);
    const declared = columns.map(({ type }) => type);
    const plan: Described = { text: statement, columns: names, types: declared, declared, named: columns.map(sqlType), readers };
    const exact: Described = columns.some(needsText)
      ? {
          ...plan,
          text: `select ${columns.map((column) => this.exactColumn(column)).join(", ")} from (${inOrder(body)}\n) as svc_statement`,
          types: columns.map((column) => (needsText(column) ? undefined : column.type)),
        }
      : plan;
    this.described.set(statement, exact);
    if (this.described.size > MAX_STATEMENTS) this.described.delete(this.described.keys().next().value as string);
    return exact;
  }

  private exactColumn(column: MysqlColumn): string {
    const name = this.quote(column.name);
    return needsText(column) ? `cast(${name} as char) as ${name}` : name;
  }

  /** Runs a text. A connection that the server had closed meanwhile is replaced, and the text run once more: it only reads. */
  private async run(text: string, parameters: readonly FeatureValue[], statement: string, signal?: AbortSignal): Promise<DriverRows> {
    for (let attempt = 0; ; attempt++) {
      const connections = this.connect();
      try {
        return await connections.run(text, parameters, signal);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        const lost = error instanceof SQL.MySQLError && error.code === CONNECTION_LOST;
        if (!lost || attempt > 0 || this.closed) throw this.explain(error, statement);
        if (this.connections === connections) {
          this.connections = undefined;
          connections.close().catch(() => {});
        }
      }
    }
  }

  private connect(): MysqlConnections {
    if (this.closed) throw new SqlError(`source '${this.name}' is closed`);
    if (this.connections) return this.connections;
    const { host, port, user, password, database, tls, rootCertificate } = this.settings;
    const address = new URL("mysql://localhost");
    address.searchParams.set("sslmode", tls);
    const pool = new SQL(address, {
      adapter: "mysql",
      hostname: host,
      port,
      username: user,
      password: () => password,
      database,
      tls: tlsOptions(tls, rootCertificate),
      bigint: true,
      max: CONNECTIONS + 1,
      connectionTimeout: CONNECT_SECONDS,
    });
    this.connections = new MysqlConnections(pool, CONNECTIONS);
    return this.connections;
  }

  private explain(error: unknown, statement: string): SqlError {
    if (error instanceof SqlError) return error;
    const { host, port, user, database, password } = this.settings;
    if (!(error instanceof SQL.MySQLError) || error.sqlState === undefined || /^(?:08|28)/.test(error.sqlState))
      return connectionFailure(error, `source '${this.name}': MySQL at ${host}:${port}, database '${database}', user '${user}'`, password);
    const message = error.message.replace(WRAPPER_END, "");
    const fault = BOUND_VALUE.has(Number(error.errno)) ? "parameter" : DATA_EXCEPTION.test(error.sqlState) ? "data" : "statement";
    return new SqlError(message, quotedOffset(message, statement), fault);
  }
}

function sameTypes(plan: Described, { columns }: DriverRows): boolean {
  return columns.length === plan.types.length && columns.every(({ type }, index) => isOfType(type, plan.types[index]));
}

function isOfType(type: number, expected: number | undefined): boolean {
  return expected === undefined ? isText(type) : type === expected;
}

/** A statement that keeps its order as a part of another: MySQL forgets that of one without a limit. */
function inOrder(body: string): string {
  return /^\s*select\b/i.test(body) && /\border\s+by\b/i.test(body) ? `(${body}\n) limit ${ALL_ROWS}` : body;
}

/** MySQL gives no position, but it quotes what it stumbled over: a name, or the rest of the statement. */
function quotedOffset(message: string, statement: string): number | undefined {
  for (const pattern of QUOTED) {
    const quoted = pattern.exec(message)?.[1];
    const offset = quoted ? wordOffset(statement, quoted) : undefined;
    if (offset !== undefined) return offset;
  }
  return undefined;
}
