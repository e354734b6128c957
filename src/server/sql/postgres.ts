/** PostgreSQL as a source, read only, through the runtime's driver. */

import { SQL } from "bun";
import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { withoutTerminator } from "../../domain/sql/statement.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { columnType, exactForm, sqlType, valueReader } from "./postgres-values.ts";
import { connectionFailure, type DriverRows, runAbortable } from "./server-connection.ts";
import {
  type Connections,
  type DescribedStatement,
  readServerSettings,
  type ServerSettingsSpec,
  ServerSource,
  type StatementText,
} from "./server-source.ts";
import { SqlError } from "./source.ts";
import type { SourceDriver } from "./source-driver.ts";
import { utf16Offset } from "./statement-text.ts";
import { tlsOptions } from "./tls.ts";

const CONNECTIONS = 4;
const CONNECT_SECONDS = 10;
const IDLE_SECONDS = 300;
const STATEMENT_TIMEOUT_MS = 60_000;
const CONNECTION_LOST = "ERR_POSTGRES_CONNECTION_CLOSED";
/** The class of SQLSTATE codes for errors in values. */
const DATA_EXCEPTION = /^22/;
/** The context of an error that a bound value causes before the statement runs. */
const BOUND_VALUE = /\bportal parameter \$\d+/;

/** The settings of a PostgreSQL server; variables have libpq's names. */
const SETTINGS: ServerSettingsSpec = {
  names: {
    host: ["PGHOST", "host"],
    port: ["PGPORT", "port"],
    user: ["PGUSER", "user"],
    password: ["PGPASSWORD", "password"],
    database: ["PGDATABASE", "database"],
    tls: ["PGSSLMODE", "sslmode"],
    rootCertificate: ["PGSSLROOTCERT", "sslrootcert"],
  },
  port: 5432,
  user: "postgres",
  database: (user) => user,
};

/** The driver of PostgreSQL, configured by `<NAME>_PGHOST` and so on, or in code. */
export const postgresDriver: SourceDriver = {
  kind: SourceKind.POSTGRESQL,
  names: ["postgresql", "postgres"],
  variable: "PGHOST",
  open: (settings) => new PostgresSource(settings.name, readServerSettings(settings, SETTINGS)),
};

/** A described statement with the readers of its columns. */
interface PostgresPlan extends DescribedStatement {
  readonly types: readonly number[];
  readonly readers: readonly (((value: unknown) => unknown) | undefined)[];
}

/** A PostgreSQL database. */
export class PostgresSource extends ServerSource<PostgresPlan> {
  readonly kind = SourceKind.POSTGRESQL;

  quote(identifier: string): string {
    return `"${identifier.replaceAll('"', '""')}"`;
  }

  placeholder(position: number, type?: "float"): string {
    return type === "float" ? `$${position}::float8` : `$${position}`;
  }

  /**
   * Describes a statement without running it. The parameter that prevents its running also makes
   * the server refuse more than one statement.
   */
  protected async plan(
    statement: string,
    run: (text: StatementText, more: readonly FeatureValue[]) => Promise<DriverRows>,
    parameters: number,
  ): Promise<PostgresPlan> {
    const body = withoutTerminator(statement, "postgresql");
    const before = "select * from (";
    const text = `${before}${body}\n) as svc_statement where $${parameters + 1}::boolean`;
    const { columns } = await run({ text, shift: before.length }, [false]);
    const forms = columns.map(({ type }) => exactForm(type));
    const declared = columns.map(({ type }) => type);
    const plan: PostgresPlan = {
      text: statement,
      shift: 0,
      columns: columns.map(({ name }) => name),
      types: forms.map(({ type }) => type),
      declared,
      named: declared.map(sqlType),
      readers: declared.map(valueReader),
    };
    return forms.some(({ cast }) => cast !== "") ? wrapped(body, forms, plan) : plan;
  }

  protected isOfPlan({ types }: PostgresPlan, { columns }: DriverRows): boolean {
    return columns.length === types.length && columns.every(({ type }, index) => type === types[index]);
  }

  protected readRows({ readers }: PostgresPlan, rows: unknown[][]): readonly (readonly unknown[])[] {
    for (const [column, read] of readers.entries())
      if (read) for (const row of rows) row[column] = row[column] === null ? null : read(row[column]);
    return rows;
  }

  protected columnType = columnType;

  protected isConnectionLost(error: unknown): boolean {
    return error instanceof SQL.PostgresError && error.code === CONNECTION_LOST;
  }

  protected connect(): Connections {
    const { host, port, user, password, database, tls, rootCertificate } = this.settings;
    const address = new URL("postgres://localhost");
    address.searchParams.set("sslmode", tls);
    const options: SQL.Options = {
      adapter: "postgres",
      hostname: host,
      port,
      username: user,
      password: () => password,
      database,
      tls: tlsOptions(tls, rootCertificate),
      bigint: true,
      max: CONNECTIONS,
      connectionTimeout: CONNECT_SECONDS,
      idleTimeout: IDLE_SECONDS,
      connection: {
        application_name: "svc",
        default_transaction_read_only: "on",
        statement_timeout: STATEMENT_TIMEOUT_MS,
        TimeZone: "UTC",
        DateStyle: "ISO",
        IntervalStyle: "postgres",
      },
    };
    const client = new SQL(address, options);
    /** For texts that are unique: on these connections no statement is kept under a name. */
    let unnamed: SQL | undefined;
    return {
      run(text, parameters, signal, isUnique) {
        if (isUnique) unnamed ??= new SQL(address, { ...options, prepare: false });
        const meant = (isUnique && unnamed) || client;
        return runAbortable(meant.unsafe(text, [...parameters]).values() as SQL.Query<unknown[][]>, signal);
      },
      async close() {
        await Promise.all([client.close({ timeout: 0 }), unnamed?.close({ timeout: 0 })]);
      },
    };
  }

  protected explain(error: unknown, statement: string, shift: number): SqlError {
    if (error instanceof SqlError) return error;
    const { host, port, user, database, password } = this.settings;
    if (!(error instanceof SQL.PostgresError) || error.errno === undefined)
      return connectionFailure(
        error,
        `source '${this.name}': PostgreSQL at ${host}:${port}, database '${database}', user '${user}'`,
        password,
      );
    const hint = error.hint ? ` (${error.hint})` : "";
    const position = Number(error.position);
    const offset = Number.isInteger(position) && position > shift ? utf16Offset(statement, position - 1 - shift) : undefined;
    const fault = !DATA_EXCEPTION.test(String(error.errno)) ? "statement" : BOUND_VALUE.test(error.where ?? "") ? "parameter" : "data";
    return new SqlError(`${error.message}${hint}`, offset, fault);
  }
}

/**
 * The statement with casts of the columns that would lose precision. Columns are named by position,
 * since names may repeat.
 */
function wrapped(body: string, forms: readonly { readonly cast: string }[], plan: PostgresPlan): PostgresPlan {
  const selected = forms.map(({ cast }, index) => `c${index}${cast}`).join(", ");
  const before = `select ${selected} from (`;
  const text = `${before}${body}\n) as svc_statement(${forms.map((_, index) => `c${index}`).join(", ")})`;
  return { ...plan, text, shift: before.length };
}
