/** MySQL and MariaDB as a source, read only, through the runtime's driver. */

import { SQL } from "bun";
import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { withoutTerminator } from "../../domain/sql/statement.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { MysqlConnections } from "./mysql-connections.ts";
import { columnType, isText, type MysqlColumn, needsText, sqlType, valueReader } from "./mysql-values.ts";
import { connectionFailure, type DriverRows } from "./server-connection.ts";
import {
  type Connections,
  type DescribedStatement,
  readServerSettings,
  type ServerSettingsSpec,
  ServerSource,
  type StatementText,
} from "./server-source.ts";
import { ParameterError, SqlError } from "./source.ts";
import type { SourceDriver } from "./source-driver.ts";
import { wordOffset } from "./statement-text.ts";
import { tlsOptions } from "./tls.ts";

const CONNECTIONS = 4;
const CONNECT_SECONDS = 10;
/** The limit that the manual gives for all rows. */
const ALL_ROWS = "18446744073709551615";
const CONNECTION_LOST = "ERR_MYSQL_CONNECTION_CLOSED";
/** Errors that bound values cause: text outside a column's character set, invalid times. */
const BOUND_VALUE: ReadonlySet<number> = new Set([1267, 1270, 1271, 1525]);
/** The class of SQLSTATE codes for errors in values. */
const DATA_EXCEPTION = /^22/;
/** The text that svc puts behind a wrapped statement, where an error quotes it. */
const WRAPPER_END = /\n\) as svc_statement[\s\S]*?(?=' at line \d+$)/;
/** Messages that quote the faulty part of the statement. */
const QUOTED = [/near '([\s\S]+)' at line \d+$/, /^Unknown column '(?:[^'.]+\.)*([^'.]+)'/, /^Table '(?:[^'.]+\.)*([^'.]+)' doesn't exist/];

/** The settings of a MySQL server. */
const SETTINGS: ServerSettingsSpec = {
  names: {
    host: ["MYSQL_HOST", "host"],
    port: ["MYSQL_PORT", "port"],
    user: ["MYSQL_USER", "user"],
    password: ["MYSQL_PASSWORD", "password"],
    database: ["MYSQL_DATABASE", "database"],
    tls: ["MYSQL_SSLMODE", "sslmode"],
    rootCertificate: ["MYSQL_SSL_CA", "ssl_ca"],
  },
  port: 3306,
  user: "root",
  database: undefined,
};

/** The driver of MySQL and MariaDB, configured by `<NAME>_MYSQL_HOST` and so on, or in code. */
export const mysqlDriver: SourceDriver = {
  kind: SourceKind.MYSQL,
  names: ["mysql", "mariadb"],
  variable: "MYSQL_HOST",
  open: (settings) => new MysqlSource(settings.name, readServerSettings(settings, SETTINGS)),
};

/** A described statement with the readers of its columns. */
interface MysqlPlan extends DescribedStatement {
  /** Types of the result's columns; undefined for one that is selected as text. */
  readonly types: readonly (number | undefined)[];
  readonly readers: readonly ((value: unknown) => unknown)[];
}

/**
 * A MySQL or MariaDB database. Rows come in the statement's order, except when it begins with
 * `with` and has a column of JSON or of instants with microseconds: then `order by` needs a
 * `limit`.
 */
export class MysqlSource extends ServerSource<MysqlPlan> {
  readonly kind = SourceKind.MYSQL;

  quote(identifier: string): string {
    return `\`${identifier.replaceAll("`", "``")}\``;
  }

  placeholder(_position: number, type?: "float"): string {
    return type === "float" ? "(? + 0e0)" : "?";
  }

  protected override checkParameters(parameters: readonly FeatureValue[]): void {
    for (const [position, value] of parameters.entries())
      if (typeof value === "number" && !Number.isFinite(value))
        throw new ParameterError(position, `is ${value}, and MySQL has no such number`);
  }

  /**
   * Describes a statement without reading rows. The parameter makes the server refuse more than one
   * statement.
   */
  protected async plan(
    statement: string,
    run: (text: StatementText, more: readonly FeatureValue[]) => Promise<DriverRows>,
  ): Promise<MysqlPlan> {
    const body = withoutTerminator(statement, "mysql");
    const { columns } = await run({ text: `select * from (${body}\n) as svc_statement where ? limit 0`, shift: 0 }, [false]);
    const declared = columns.map(({ type }) => type);
    const plan: MysqlPlan = {
      text: statement,
      shift: 0,
      columns: columns.map(({ name }) => name),
      types: declared,
      declared,
      named: columns.map(sqlType),
      readers: columns.map(valueReader),
    };
    if (!columns.some(needsText)) return plan;
    return {
      ...plan,
      text: `select ${columns.map((column) => this.exactColumn(column)).join(", ")} from (${inOrder(body)}\n) as svc_statement`,
      types: columns.map((column) => (needsText(column) ? undefined : column.type)),
    };
  }

  protected isOfPlan({ types }: MysqlPlan, { columns }: DriverRows): boolean {
    return columns.length === types.length && columns.every(({ type }, index) => isOfType(type, types[index]));
  }

  protected readRows({ readers }: MysqlPlan, rows: unknown[][]): readonly (readonly unknown[])[] {
    for (const row of rows) for (const [column, read] of readers.entries()) row[column] = read(row[column]);
    return rows;
  }

  protected columnType = columnType;

  protected isConnectionLost(error: unknown): boolean {
    return error instanceof SQL.MySQLError && error.code === CONNECTION_LOST;
  }

  private exactColumn(column: MysqlColumn): string {
    const name = this.quote(column.name);
    return needsText(column) ? `cast(${name} as char) as ${name}` : name;
  }

  protected connect(): Connections {
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
    return new MysqlConnections(pool, CONNECTIONS);
  }

  protected explain(error: unknown, statement: string): SqlError {
    if (error instanceof SqlError) return error;
    const { host, port, user, database, password } = this.settings;
    if (!(error instanceof SQL.MySQLError) || error.sqlState === undefined || /^(?:08|28)/.test(error.sqlState))
      return connectionFailure(error, `source '${this.name}': MySQL at ${host}:${port}, database '${database}', user '${user}'`, password);
    const message = error.message.replace(WRAPPER_END, "");
    const fault = BOUND_VALUE.has(Number(error.errno)) ? "parameter" : DATA_EXCEPTION.test(error.sqlState) ? "data" : "statement";
    return new SqlError(message, quotedOffset(message, statement), fault);
  }
}

function isOfType(type: number, expected: number | undefined): boolean {
  return expected === undefined ? isText(type) : type === expected;
}

/**
 * A statement that keeps its order as a subquery: MySQL ignores the order of one without a limit.
 */
function inOrder(body: string): string {
  return /^\s*select\b/i.test(body) && /\border\s+by\b/i.test(body) ? `(${body}\n) limit ${ALL_ROWS}` : body;
}

/**
 * The offset of an error in a statement. MySQL gives no position, but quotes the faulty name or the
 * rest of the statement.
 */
function quotedOffset(message: string, statement: string): number | undefined {
  for (const pattern of QUOTED) {
    const quoted = pattern.exec(message)?.[1];
    const offset = quoted ? wordOffset(statement, quoted) : undefined;
    if (offset !== undefined) return offset;
  }
  return undefined;
}
