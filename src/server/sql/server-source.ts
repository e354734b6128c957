/**
 * The common part of sources on database servers. Connects on first use, and reconnects after the
 * server was unavailable.
 */

import type { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { dialectOfKind } from "../../domain/sql/dialect.ts";
import { countParameters } from "../../domain/sql/statement.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";
import type { DriverRows } from "./server-connection.ts";
import { SqlError, type SqlResult, type SqlSource, type SqlType } from "./source.ts";
import type { SourceSettings } from "./source-driver.ts";
import { comparable } from "./statement-text.ts";
import { type TlsMode, tlsMode } from "./tls.ts";
import { withTraceparent } from "./traceparent-comment.ts";

/** Connection settings of a server. */
export interface ServerSettings {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: TlsMode;
  /** PEM file with trusted certificate authorities; undefined = the system's. */
  readonly rootCertificate?: string;
}

/** The names and defaults of the settings of a kind of server. */
export interface ServerSettingsSpec {
  /** By setting: the environment variable after the source's prefix, and the key in code. */
  readonly names: Readonly<Record<keyof ServerSettings, readonly [variable: string, key: string]>>;
  readonly port: number;
  readonly user: string;
  /** The default database of a user; undefined = a database must be given. */
  readonly database: ((user: string) => string) | undefined;
}

/** Reads the settings of a source. Throws SqlError that names the faulty variable. */
export function readServerSettings({ name, prefix, read }: SourceSettings, spec: ServerSettingsSpec): ServerSettings {
  const { names } = spec;
  const variable = (setting: keyof ServerSettings): string => `${prefix}_${names[setting][0]}`;
  const given = (setting: keyof ServerSettings): string | undefined => read(...names[setting]);
  const port = Number(given("port") ?? spec.port);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new SqlError(`source '${name}': ${variable("port")} is no port number`);
  const user = given("user") ?? spec.user;
  const database = given("database") ?? spec.database?.(user);
  if (!database)
    throw new SqlError(`source '${name}' has no database: give \`${names.database[1]}=\` in code or set ${variable("database")}`);
  const rootCertificate = given("rootCertificate");
  return {
    host: given("host") ?? "localhost",
    port,
    user,
    password: given("password") ?? "",
    database,
    tls: tlsMode(name, variable("tls"), given("tls") ?? "prefer"),
    ...(rootCertificate === undefined ? {} : { rootCertificate }),
  };
}

/**
 * A statement as the server described it: the text to run, whose values lose no precision, and the
 * columns.
 */
export interface DescribedStatement {
  readonly text: string;
  /** Number of code points in `text` before the statement. */
  readonly shift: number;
  readonly columns: readonly string[];
  /** The server's type codes of the statement's own columns. */
  readonly declared: readonly number[];
  readonly named: readonly (SqlType | undefined)[];
}

/** The text that is run in place of a statement. */
export type StatementText = Pick<DescribedStatement, "text" | "shift">;

/** Connections to a server. */
export interface Connections {
  /**
   * Runs a text; rejects with the signal's reason when it is aborted.
   * @param isUnique whether the text never comes again, so that nothing is kept for it
   */
  run(text: string, parameters: readonly unknown[], signal?: AbortSignal, isUnique?: boolean): Promise<DriverRows>;
  close(): Promise<void>;
}

const MAX_STATEMENTS = 1_000;

/** A source on a database server. */
export abstract class ServerSource<Plan extends DescribedStatement> implements SqlSource {
  abstract readonly kind: SourceKind;
  private readonly described = new Map<string, Plan>();
  private connections: Connections | undefined;
  private closed = false;

  constructor(
    readonly name: string,
    protected readonly settings: ServerSettings,
  ) {}

  abstract quote(identifier: string): string;
  abstract placeholder(position: number, type?: "float"): string;

  /** Creates the connections; none is opened before it is used. */
  protected abstract connect(): Connections;
  /**
   * Has the server describe a statement with this number of parameters, without running it. `run`
   * passes the parameters, followed by `more`.
   */
  protected abstract plan(
    statement: string,
    run: (text: StatementText, more: readonly FeatureValue[]) => Promise<DriverRows>,
    parameters: number,
  ): Promise<Plan>;
  /** Whether rows have the plan's types. */
  protected abstract isOfPlan(plan: Plan, rows: DriverRows): boolean;
  /** Rows with values in the form of `SqlResult`; the given rows may be changed. */
  protected abstract readRows(plan: Plan, rows: unknown[][]): readonly (readonly unknown[])[];
  /** The type for comparisons, by the server's type code; undefined when it cannot be compared. */
  protected abstract columnType(declared: number): ColumnType | undefined;
  /** Whether an error means that the server had closed the connection. */
  protected abstract isConnectionLost(error: unknown): boolean;
  /** The SqlError for an error of the server or driver, with its offset in the statement. */
  protected abstract explain(error: unknown, statement: string, shift: number): SqlError;
  /** Throws ParameterError for values that the server cannot represent. */
  protected checkParameters(_parameters: readonly FeatureValue[]): void {}

  async query(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal, traceparent?: string): Promise<SqlResult> {
    this.checkParameters(parameters);
    for (let attempt = 0; ; attempt++) {
      const plan = this.described.get(statement) ?? (await this.learn(statement, parameters, signal));
      const rows = await this.run(plan, parameters, statement, signal, traceparent);
      if (!this.isOfPlan(plan, rows) && attempt === 0) {
        this.described.delete(statement);
        continue;
      }
      return { columns: plan.columns, types: plan.named, rows: this.readRows(plan, rows.rows) };
    }
  }

  /** A null for each parameter of a statement. */
  private nullsOf(statement: string): FeatureValue[] {
    return new Array<FeatureValue>(countParameters(statement, dialectOfKind(this.kind))).fill(null);
  }

  async describe(statement: string): Promise<readonly string[]> {
    return (await this.learn(statement, this.nullsOf(statement))).columns;
  }

  async columnTypes(statement: string): Promise<ReadonlyMap<string, ColumnType>> {
    const { columns, declared } = this.described.get(statement) ?? (await this.learn(statement, this.nullsOf(statement)));
    return comparable(columns, declared, (type) => this.columnType(type));
  }

  async test(): Promise<void> {
    await this.run({ text: "select 1", shift: 0 }, [], "select 1");
  }

  async close(): Promise<void> {
    this.closed = true;
    const { connections } = this;
    this.connections = undefined;
    await connections?.close();
  }

  private async learn(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal): Promise<Plan> {
    const run = (text: StatementText, more: readonly FeatureValue[]) => this.run(text, [...parameters, ...more], statement, signal);
    const plan = await this.plan(statement, run, parameters.length);
    this.described.set(statement, plan);
    if (this.described.size > MAX_STATEMENTS) this.described.delete(this.described.keys().next().value as string);
    return plan;
  }

  /**
   * Runs a text. When the server had closed the connections, they are replaced and the text is run
   * again, which is safe because it only reads.
   */
  private async run(
    { text, shift }: StatementText,
    parameters: readonly FeatureValue[],
    statement: string,
    signal?: AbortSignal,
    traceparent?: string,
  ): Promise<DriverRows> {
    const sent = traceparent === undefined ? text : withTraceparent(text, dialectOfKind(this.kind), traceparent);
    for (let attempt = 0; ; attempt++) {
      if (this.closed) throw new SqlError(`source '${this.name}' is closed`);
      this.connections ??= this.connect();
      const { connections } = this;
      try {
        return await connections.run(sent, parameters, signal, traceparent !== undefined);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        const isReplaced = this.connections !== connections;
        const isLost = isReplaced || this.isConnectionLost(error);
        if (!isLost || attempt > 0 || this.closed) throw this.explain(error, statement, shift);
        if (isReplaced) continue;
        this.connections = undefined;
        connections.close().catch(() => {});
      }
    }
  }
}
