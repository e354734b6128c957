/**
 * A fake of BigQuery's REST API, as its documentation says: dry runs, jobs that are inserted,
 * answers by pages of two rows, and access tokens for signed claims.
 */

import { decodeJwt } from "jose";
import { EngineRefusal, FakeEngine } from "./fake-warehouse.ts";

/** A column as the API describes it. */
export interface GivenField {
  readonly name: string;
  readonly type: string;
  readonly mode?: string;
  readonly fields?: readonly GivenField[];
}

interface Job {
  readonly answer: { readonly fields: readonly GivenField[]; readonly rows: readonly unknown[] } | undefined;
  looks: number;
}

const PAGE_ROWS = 2;
const TYPES: Readonly<Record<string, string>> = { bigint: "INTEGER", "double precision": "FLOAT", "varchar(40)": "STRING" };

/** The fake. */
export class FakeBigquery {
  readonly engine = new FakeEngine();
  readonly cancelled: string[] = [];
  /** Configurations of the jobs that were inserted, without dry runs. */
  readonly jobs: Record<string, unknown>[] = [];
  /** How many access tokens were given, and for whom. */
  readonly tokensFor: unknown[] = [];
  /** Answers given in place of the engine's, by statement. */
  readonly given = new Map<string, { readonly fields: readonly GivenField[]; readonly rows: readonly unknown[] }>();
  /** Answers of a system without room, given before any other. */
  readonly busy: Response[] = [];
  readonly #jobs = new Map<string, Job>();
  #server = this.#serve(0);

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
    if (url.pathname === "/token") {
      const form = new URLSearchParams(await request.text());
      this.tokensFor.push(decodeJwt(form.get("assertion") ?? "").iss);
      return Response.json({ access_token: "access-of-test", expires_in: 3_600 });
    }
    if (request.headers.get("authorization") !== "Bearer access-of-test")
      return refusal(401, "authError", "Request had invalid credentials.");
    const [, , verb = "", id = "", end] =
      /^\/bigquery\/v2\/projects\/([^/]+)\/(jobs|queries)(?:\/([^/]+))?(?:\/(cancel))?$/.exec(url.pathname) ?? [];
    if (end === "cancel") {
      this.cancelled.push(id);
      return Response.json({});
    }
    if (verb === "jobs") return this.#insert((await request.json()) as Inserted);
    const job = this.#jobs.get(id);
    if (!job?.answer || job.looks-- > 0) return Response.json({ jobComplete: false, jobReference: { jobId: id } });
    const from = Number(url.searchParams.get("pageToken") ?? 0);
    const next = from + PAGE_ROWS < job.answer.rows.length ? { pageToken: String(from + PAGE_ROWS) } : {};
    return Response.json({
      jobComplete: true,
      schema: { fields: job.answer.fields },
      rows: job.answer.rows.slice(from, from + PAGE_ROWS),
      ...next,
    });
  }

  #insert({ configuration, jobReference }: Inserted): Response {
    const { query } = configuration;
    const parameters = (query.queryParameters ?? []).map(({ parameterType, parameterValue: { value } }) =>
      value === undefined
        ? null
        : parameterType.type === "INT64"
          ? BigInt(value)
          : parameterType.type === "FLOAT64"
            ? Number(value)
            : value,
    );
    try {
      if (configuration.dryRun) {
        const count = query.query.replaceAll(/'[^']*'|--.*/g, "").split("?").length - 1;
        const { fields } = this.given.get(query.query) ?? this.#computed(query.query, new Array(count).fill(null));
        return Response.json({ statistics: { query: { schema: { fields }, statementType: "SELECT" } } });
      }
      this.jobs.push(configuration as unknown as Record<string, unknown>);
      const waits = this.engine.waits(query.query);
      const answer = waits ? undefined : (this.given.get(query.query) ?? this.#computed(query.query, parameters));
      this.#jobs.set(jobReference.jobId, { answer, looks: 1 });
      return Response.json({ jobReference: { ...jobReference, location: "EU" }, status: { state: "RUNNING" } });
    } catch (error) {
      if (!(error instanceof EngineRefusal)) throw error;
      return refusal(400, "invalidQuery", `${error.message}${error.at === undefined ? "" : ` at [1:${error.at + 1}]`}`);
    }
  }

  #computed(statement: string, parameters: readonly (string | number | bigint | null)[]) {
    const { names, declared, rows } = this.engine.run(statement, parameters);
    const fields = names.map((name, at) => {
      const value = rows[0]?.[at];
      return {
        name,
        type: TYPES[declared[at] ?? ""] ?? (typeof value === "bigint" ? "INTEGER" : typeof value === "number" ? "FLOAT" : "STRING"),
      };
    });
    return { fields, rows: rows.map((row) => ({ f: row.map((value) => ({ v: value === null ? null : String(value) })) })) };
  }
}

interface Inserted {
  readonly configuration: {
    readonly dryRun?: boolean;
    readonly query: {
      readonly query: string;
      readonly queryParameters?: readonly {
        readonly parameterType: { readonly type: string };
        readonly parameterValue: { readonly value?: string };
      }[];
    };
  };
  readonly jobReference: { readonly jobId: string };
}

function refusal(status: number, reason: string, message: string): Response {
  return Response.json({ error: { code: status, message, errors: [{ reason, message }] } }, { status });
}
