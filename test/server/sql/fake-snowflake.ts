/**
 * A fake of Snowflake's SQL API, as its documentation says: statements are begun, asked for by their
 * handles, cancelled, and answered in partitions of two rows. Names that are not quoted are upper case.
 */

import { EngineRefusal, FakeEngine } from "./fake-warehouse.ts";

/** A column and its values, given as an answer in place of the engine's. */
export interface GivenColumn {
  readonly name: string;
  readonly type: string;
  readonly scale?: number;
}

interface Statement {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly partitions: readonly (readonly unknown[])[][];
  looks: number;
}

const PARTITION_ROWS = 2;
const TYPES: Readonly<Record<string, string>> = { bigint: "fixed", "double precision": "real", "varchar(40)": "text" };

/** The fake. */
export class FakeSnowflake {
  readonly engine = new FakeEngine();
  readonly cancelled: string[] = [];
  /** Bodies of statements that were begun, and the headers that they came with. */
  readonly begun: { readonly body: Record<string, unknown>; readonly headers: Headers }[] = [];
  /** Answers given in place of the engine's, by statement. */
  readonly given = new Map<string, { readonly columns: readonly GivenColumn[]; readonly rows: readonly (readonly (string | null)[])[] }>();
  /** What the answer to a statement that was begun waits for. */
  answersAfter: Promise<void> = Promise.resolve();
  /** Answers of a system without room, given before any other. */
  readonly busy: Response[] = [];
  readonly #statements = new Map<string, Statement>();
  #server = this.#serve(0);

  constructor(readonly token: string) {}

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  async restart(): Promise<void> {
    const port = this.#server.port as number;
    await this.#server.stop(true);
    this.#server = this.#serve(port);
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
    this.engine.db.close();
  }

  #serve(port: number) {
    return Bun.serve({ port, hostname: "127.0.0.1", fetch: (request) => this.#answer(request) });
  }

  async #answer(request: Request): Promise<Response> {
    const busy = this.busy.shift();
    if (busy) return busy;
    const url = new URL(request.url);
    const bearer = request.headers.get("authorization");
    if (request.headers.get("x-snowflake-authorization-token-type") === "PROGRAMMATIC_ACCESS_TOKEN" && bearer !== `Bearer ${this.token}`)
      return Response.json({ code: "390303", message: "Invalid OAuth access token." }, { status: 401 });
    const [, handle = "", verb] = /^\/api\/v2\/statements(?:\/([^/]+))?(?:\/(cancel))?$/.exec(url.pathname) ?? [];
    if (verb === "cancel") {
      this.cancelled.push(handle);
      return Response.json({ code: "000604", message: "successfully canceled." });
    }
    if (request.method === "POST") return this.#begin((await request.json()) as Record<string, unknown>, request.headers);
    const found = this.#statements.get(handle);
    if (!found) return Response.json({ message: "there is no such statement" }, { status: 404 });
    if (found.status === 202 || found.looks-- > 0)
      return Response.json({ code: "333334", statementHandle: handle, message: "Asynchronous execution in progress." }, { status: 202 });
    const partition = Number(url.searchParams.get("partition") ?? 0);
    return Response.json({ ...found.body, ...(found.status === 200 && { data: found.partitions[partition] }) }, { status: found.status });
  }

  async #begin(body: Record<string, unknown>, headers: Headers): Promise<Response> {
    this.begun.push({ body, headers });
    await this.answersAfter;
    const handle = crypto.randomUUID();
    this.#statements.set(handle, { ...this.#run(String(body.statement), body.bindings), looks: 1 });
    return Response.json({ code: "333334", statementHandle: handle, message: "Asynchronous execution in progress." }, { status: 202 });
  }

  #run(statement: string, bindings: unknown): Omit<Statement, "looks"> {
    if (this.engine.waits(statement) && !statement.includes("where false")) return { status: 202, body: {}, partitions: [] };
    const bound = Object.values((bindings ?? {}) as Record<string, { type: string; value: string | null }>);
    try {
      const given = this.given.get(statement);
      const { rows, columns } = given ?? this.#computed(statement, bound);
      const partitions = Array.from({ length: Math.max(1, Math.ceil(rows.length / PARTITION_ROWS)) }, (_, at) => [
        ...rows.slice(at * PARTITION_ROWS, (at + 1) * PARTITION_ROWS),
      ]);
      const partitionInfo = partitions.map((part) => ({ rowCount: part.length }));
      return {
        status: 200,
        body: { code: "090001", resultSetMetaData: { numRows: rows.length, rowType: columns, partitionInfo } },
        partitions,
      };
    } catch (error) {
      if (!(error instanceof EngineRefusal)) throw error;
      const place = error.at === undefined ? "" : `error line 1 at position ${error.at}\n`;
      return { status: 422, body: { code: "000904", message: `SQL compilation error: ${place}${error.message}` }, partitions: [] };
    }
  }

  #computed(statement: string, bound: readonly { readonly type: string; readonly value: string | null }[]) {
    const parameters = bound.map(({ type, value }) =>
      value === null ? null : type === "FIXED" ? BigInt(value) : type === "REAL" ? Number(value) : value,
    );
    const { names, declared, rows } = this.engine.run(statement, parameters);
    const columns = names.map((written, at) => {
      const name = statement.includes(`"${written}"`) || !/^\w+$/.test(written) ? written : written.toUpperCase();
      const value = rows[0]?.[at];
      const type = TYPES[declared[at] ?? ""] ?? (typeof value === "bigint" ? "fixed" : typeof value === "number" ? "real" : "text");
      return { name, type, scale: 0 };
    });
    return { columns, rows: rows.map((row) => row.map((value) => (value === null ? null : String(value)))) };
  }
}
