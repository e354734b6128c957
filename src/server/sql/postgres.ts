/** PostgreSQL as a source, read only, through the runtime's driver. */

import { SQL } from "bun";
import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";
import type { ReadSetting } from "./create-sources.ts";
import { columnType, exactForm, sqlType, valueReader } from "./postgres-values.ts";
import { connectionFailure, type DriverRows, runAbortable } from "./server-connection.ts";
import { SqlError, type SqlResult, type SqlSource, type SqlType } from "./source.ts";
import { comparable, countParameters, utf16Offset, withoutTerminator } from "./statement-text.ts";
import { type TlsMode, tlsMode, tlsOptions } from "./tls.ts";

/** How a PostgreSQL source is reached. */
export interface PostgresSettings {
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
const IDLE_SECONDS = 300;
const STATEMENT_TIMEOUT_MS = 60_000;
const MAX_STATEMENTS = 1_000;
const CONNECTION_LOST = "ERR_POSTGRES_CONNECTION_CLOSED";
/** The class of SQLSTATE codes that are about values. */
const DATA_EXCEPTION = /^22/;
/** The context of an error that a bound value makes before the statement runs. */
const BOUND_VALUE = /\bportal parameter \$\d+/;

/** Settings of a source from its environment variables (`<NAME>_PGHOST` and so on, as libpq names them) and from code. Throws SqlError. */
export function postgresSettings(name: string, prefix: string, read: ReadSetting): PostgresSettings {
  const port = Number(read("PGPORT", "port") ?? 5432);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new SqlError(`source '${name}': ${prefix}_PGPORT is no port number`);
  const user = read("PGUSER", "user") ?? "postgres";
  const rootCertificate = read("PGSSLROOTCERT", "sslrootcert");
  return {
    host: read("PGHOST", "host") ?? "localhost",
    port,
    user,
    password: read("PGPASSWORD", "password") ?? "",
    database: read("PGDATABASE", "database") ?? user,
    tls: tlsMode(name, `${prefix}_PGSSLMODE`, read("PGSSLMODE", "sslmode") ?? "prefer"),
    ...(rootCertificate === undefined ? {} : { rootCertificate }),
  };
}

/** What is known of a statement: the text that loses nothing, and how its columns are read. */
interface Described {
  readonly text: string;
  /** Characters (code points) that `text` has before the statement. */
  readonly shift: number;
  readonly columns: readonly string[];
  readonly types: readonly number[];
  /** The types of the statement's own columns. */
  readonly declared: readonly number[];
  readonly named: readonly (SqlType | undefined)[];
  readonly readers: readonly (((value: unknown) => unknown) | undefined)[];
}

/** A PostgreSQL database. Connects on first use, and again after the server was away. */
export class PostgresSource implements SqlSource {
  readonly kind = SourceKind.POSTGRESQL;
  private readonly described = new Map<string, Described>();
  private client: SQL | undefined;
  private closed = false;

  constructor(
    readonly name: string,
    private readonly settings: PostgresSettings,
  ) {}

  quote(identifier: string): string {
    return `"${identifier.replaceAll('"', '""')}"`;
  }

  placeholder(position: number, type?: "float"): string {
    return type === "float" ? `$${position}::float8` : `$${position}`;
  }

  async query(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal): Promise<SqlResult> {
    for (let attempt = 0; ; attempt++) {
      const plan = this.described.get(statement) ?? (await this.learn(statement, parameters, signal));
      const rows = await this.run(plan.text, parameters, statement, plan.shift, signal);
      if (!sameTypes(plan, rows) && attempt === 0) {
        this.described.delete(statement);
        continue;
      }
      return { columns: plan.columns, types: plan.named, rows: readRows(plan, rows) };
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
    await this.run("select 1", [], "select 1", 0);
  }

  async close(): Promise<void> {
    this.closed = true;
    const { client } = this;
    this.client = undefined;
    await client?.close({ timeout: 0 });
  }

  /**
   * Has the server plan a statement without running it. The parameter that keeps it from running also makes the server refuse more than one statement.
   */
  private async learn(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal): Promise<Described> {
    const body = withoutTerminator(statement);
    const before = "select * from (";
    const text = `${before}${body}\n) as svc_statement where $${parameters.length + 1}::boolean`;
    const { columns } = await this.run(text, [...parameters, false], statement, before.length, signal);
    const forms = columns.map(({ type }) => exactForm(type));
    const names = columns.map(({ name }) => name);
    const types = forms.map(({ type }) => type);
    const readers = columns.map(({ type }) => valueReader(type));
    const declared = columns.map(({ type }) => type);
    const plan: Described = { text: statement, shift: 0, columns: names, types, declared, named: declared.map(sqlType), readers };
    const exact = forms.some(({ cast }) => cast !== "") ? wrapped(body, forms, plan) : plan;
    this.described.set(statement, exact);
    if (this.described.size > MAX_STATEMENTS) this.described.delete(this.described.keys().next().value as string);
    return exact;
  }

  /** Runs a text. A connection that the server had closed meanwhile is replaced, and the text run once more: it only reads. */
  private async run(
    text: string,
    parameters: readonly FeatureValue[],
    statement: string,
    shift: number,
    signal?: AbortSignal,
  ): Promise<DriverRows> {
    for (let attempt = 0; ; attempt++) {
      const client = this.connect();
      try {
        return await runAbortable(client.unsafe(text, [...parameters]).values() as SQL.Query<unknown[][]>, signal);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        const lost = error instanceof SQL.PostgresError && error.code === CONNECTION_LOST;
        if (!lost || attempt > 0 || this.closed) throw this.explain(error, statement, shift);
        if (this.client === client) {
          this.client = undefined;
          client.close({ timeout: 0 }).catch(() => {});
        }
      }
    }
  }

  private connect(): SQL {
    if (this.closed) throw new SqlError(`source '${this.name}' is closed`);
    if (this.client) return this.client;
    const { host, port, user, password, database, tls, rootCertificate } = this.settings;
    const address = new URL("postgres://localhost");
    address.searchParams.set("sslmode", tls);
    this.client = new SQL(address, {
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
    });
    return this.client;
  }

  private explain(error: unknown, statement: string, shift: number): SqlError {
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

/** The statement with the columns cast that would lose something. Columns go by place, since names may repeat. */
function wrapped(body: string, forms: readonly { readonly cast: string }[], plan: Described): Described {
  const selected = forms.map(({ cast }, index) => `c${index}${cast}`).join(", ");
  const before = `select ${selected} from (`;
  const text = `${before}${body}\n) as svc_statement(${forms.map((_, index) => `c${index}`).join(", ")})`;
  return { ...plan, text, shift: before.length };
}

function sameTypes(plan: Described, { columns }: DriverRows): boolean {
  return columns.length === plan.types.length && columns.every(({ type }, index) => type === plan.types[index]);
}

function readRows({ readers }: Described, { rows }: DriverRows): readonly (readonly unknown[])[] {
  for (let column = 0; column < readers.length; column++) {
    const read = readers[column];
    if (read) for (const row of rows) row[column] = row[column] === null ? null : read(row[column]);
  }
  return rows;
}
