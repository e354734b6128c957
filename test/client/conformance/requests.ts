/**
 * The conformance table of clients: requests with the answers that they have to come to, computed by
 * `oracle.ts`. Whoever runs it says so with one object per request (`Outcome`).
 */

import { largeIn, lengthOf, nameOf, type Order, ordersOf, orderValue, recentIn, scoreOf, spentIn } from "./oracle.ts";
import { bytes, date, decimal, duration, float, int, json, set, struct, time, type Value } from "./values.ts";

/** Options of a query, in the names of the JSON API. */
export interface Options {
  readonly staleness?: Readonly<Record<string, string>>;
  readonly tags?: readonly string[];
  readonly now?: string | readonly string[];
  readonly query_context?: Readonly<Record<string, string>>;
  readonly query_name?: string;
  readonly query_name_version?: string;
  readonly planner_options?: Readonly<Record<string, boolean>>;
  readonly include_meta?: boolean;
  readonly explain?: boolean;
  readonly trace?: boolean;
}

/** How the request's client differs from the one of all others. */
export interface ClientOptions {
  readonly branch?: string;
  readonly environment?: string;
  readonly deployment_id?: string;
  readonly client_secret?: string;
  readonly api_server?: string;
  readonly timeout_ms?: number;
}

/** A request of the table. */
export interface Request {
  readonly name: string;
  readonly call: "query" | "bulk" | "upload" | "multi";
  readonly client?: ClientOptions;
  /** Of a query values, of the others lists of them. */
  readonly inputs: Readonly<Record<string, Value>>;
  readonly outputs?: readonly string[];
  readonly options?: Options;
  /** Of several queries that go together. */
  readonly queries?: readonly Request[];
  /** Of an upload. */
  readonly dry_run?: boolean;
  readonly expect: Expected;
}

/** An error that is expected; `message` is a part of it. */
export interface ExpectedError {
  readonly code: string;
  readonly category: string;
  readonly message: string;
  readonly feature?: string;
  readonly resolver?: string;
  /** Class of the exception. */
  readonly kind?: string;
  readonly row?: number;
}

/** What a request comes to. */
export interface Expected {
  /** Values by name, of a query. */
  readonly values?: Readonly<Record<string, Value>>;
  /** Columns by name, of a bulk query. */
  readonly columns?: Readonly<Record<string, readonly Value[]>>;
  readonly errors?: readonly ExpectedError[];
  /** Whether a value came from the online store. */
  readonly hits?: Readonly<Record<string, boolean>>;
  readonly inferred?: readonly string[];
  /** Whether the answer has a plan, and a trace. */
  readonly explained?: boolean;
  readonly traced?: boolean;
  /** Rows of an upload, and values for each store. */
  readonly stored?: readonly [rows: number, online: number, offline: number];
  /** Of several queries, in their order. */
  readonly outcomes?: readonly Expected[];
  /** It is refused as a whole: by its errors, for its credentials, or because nobody is there. */
  readonly refused?: "query" | "authentication" | "unreachable";
}

const ONE_DAY = "user.recent__86400__";
const SEVEN_DAYS = "user.recent__604800__";
const LARGEST = 2n ** 63n - 1n;
const SMALLEST = -(2n ** 63n);
const BEYOND = 2n ** 53n + 1n;

/**
 * The table.
 * @param base tells the rows of one runner from those of others, which ask the same server
 */
export function requests(base: number): Request[] {
  const id = (n: number): number => base * 1000 + n;
  const table: Request[] = [];
  const add = (call: Request["call"]) => (name: string, request: Omit<Request, "name" | "call">) =>
    void table.push({ name, call, ...request });
  const [query, bulk, upload] = [add("query"), add("bulk"), add("upload")];
  const user = (
    n: number,
    outputs: readonly string[],
    values: Readonly<Record<string, Value>>,
    more: Partial<Request> = {},
    expect: Expected = {},
  ) => ({
    ...{ inputs: { "user.id": int(id(n)) }, outputs, ...more },
    expect: { values, ...expect },
  });
  const refused = (code: string, message: string, feature?: string): Expected => ({
    refused: "query",
    errors: [{ code, category: "REQUEST", message, ...(feature ? { feature } : {}) }],
  });
  const all = (orders: readonly Order[]): Value => orders.map(orderValue);

  query("one feature", user(1, ["user.score"], { "user.score": float(scoreOf(id(1))) }));
  query(
    "features in the order in which they are asked for",
    user(2, ["user.score", "user.name", "user.id"], {
      "user.score": float(scoreOf(id(2))),
      "user.name": nameOf(id(2)),
      "user.id": int(id(2)),
    }),
  );
  query("a name without its class", user(3, ["score"], { "user.score": float(scoreOf(id(3))) }));
  query("a class", {
    inputs: { "word.text": "word" },
    outputs: ["word"],
    expect: { values: { "word.text": "word", "word.length": int(4) } },
  });
  query("no outputs: the class of the input", {
    inputs: { "word.text": "inferred" },
    expect: { values: { "word.text": "inferred", "word.length": int(8) }, inferred: ["word"] },
  });
  query("a path through a has-one relation", {
    inputs: { "team.id": int(id(4)) },
    outputs: ["team.lead_id", "team.lead.name", "team.lead.score"],
    expect: {
      values: { "team.lead_id": int(id(4) * 10), "team.lead.name": nameOf(id(4) * 10), "team.lead.score": float(scoreOf(id(4) * 10)) },
    },
  });
  query("rows of a has-many relation", user(5, ["user.orders"], { "user.orders": all(ordersOf(id(5))) }));
  query(
    "a column of a has-many relation",
    user(6, ["user.orders.amount", "user.orders.kind"], {
      "user.orders.amount": ordersOf(id(6)).map(({ amount }) => float(amount)),
      "user.orders.kind": ordersOf(id(6)).map(({ kind }) => kind),
    }),
  );
  query(
    "aggregations",
    user(7, ["user.spent", "user.large"], { "user.spent": float(spentIn(ordersOf(id(7)))), "user.large": int(largeIn(ordersOf(id(7)))) }),
  );
  for (const now of ["2024-01-04T00:00:00Z", "2024-01-04T00:00:00.000001Z", "2024-01-20T12:00:00Z"]) {
    const at = Date.parse(now) + (now.includes(".000001") ? 0.001 : 0);
    query(
      `windows at ${now}`,
      user(
        8,
        ["user.recent[1d]", "user.recent[7d]"],
        {
          [ONE_DAY]: float(recentIn(ordersOf(id(8)), at, 1)),
          [SEVEN_DAYS]: float(recentIn(ordersOf(id(8)), at, 7)),
        },
        { options: { now } },
      ),
    );
  }
  const given: Order[] = [
    { id: 1, userId: id(9), amount: 2.5, kind: "l", placedAt: Date.UTC(2024, 0, 1) },
    { id: 2, userId: id(9), amount: 4, kind: "s", placedAt: Date.UTC(2024, 0, 3) },
  ];
  for (const orders of [given, []])
    query(`${orders.length} rows that are given for a relation`, {
      inputs: { "user.id": int(id(9)), "user.orders": all(orders) },
      outputs: ["user.orders", "user.spent", "user.large", "user.recent[1d]"],
      options: { now: "2024-01-03T12:00:00Z" },
      expect: {
        values: {
          "user.orders": all(orders),
          "user.spent": float(spentIn(orders)),
          "user.large": int(largeIn(orders)),
          [ONE_DAY]: float(recentIn(orders, Date.UTC(2024, 0, 3, 12), 1)),
        },
      },
    });
  query(
    "tags and the query's context",
    user(10, ["user.origin"], { "user.origin": "table/a,b" }, { options: { tags: ["b", "a"], query_context: { from: "table" } } }),
  );
  query(
    "a context beyond ASCII",
    user(10, ["user.origin"], { "user.origin": "grüß 😀/" }, { options: { query_context: { from: "grüß 😀" } } }),
  );
  query(
    "the time to answer as of",
    user(11, ["user.asked_at"], { "user.asked_at": time("2024-05-01T12:00:00.000000Z") }, { options: { now: "2024-05-01T12:00:00Z" } }),
  );
  query(
    "a time with microseconds",
    user(
      11,
      ["user.asked_at"],
      { "user.asked_at": time("2024-05-01T12:00:00.123456Z") },
      { options: { now: "2024-05-01T12:00:00.123456Z" } },
    ),
  );
  query(
    "a time of another zone",
    user(
      11,
      ["user.asked_at"],
      { "user.asked_at": time("2024-05-01T10:00:00.000000Z") },
      { options: { now: "2024-05-01T12:00:00+02:00" } },
    ),
  );
  for (const text of ["grüß 😀", "", 'a"b\\c\n\u2028\u0001', "x".repeat(100_000)])
    query(`the key ${JSON.stringify(text.slice(0, 20))}`, {
      inputs: { "word.text": text },
      outputs: ["word.length", "word.text"],
      expect: { values: { "word.length": int(lengthOf(text)), "word.text": text } },
    });

  const echo = (name: string, feature: string, value: Value) =>
    query(`${name}, there and back`, {
      inputs: { "echo.id": int(1), [feature]: value },
      outputs: [feature],
      expect: { values: { [feature]: value } },
    });
  for (const value of [0n, LARGEST, SMALLEST, BEYOND, -BEYOND, 2n ** 53n - 1n]) echo(`the integer ${value}`, "echo.a_int", int(value));
  for (const value of [0.1, 2, 1e308, 5e-324, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
    echo(`the float ${Object.is(value, -0) ? "-0" : value}`, "echo.a_float", float(value));
  echo("a text", "echo.a_str", 'gr\u00fc\u00df \u{1f600} "quoted" \\ \t\u2028\u0000 $float');
  echo("a boolean", "echo.a_bool", false);
  echo("bytes", "echo.a_bytes", bytes(Buffer.from(Array.from({ length: 256 }, (_, at) => at)).toString("base64")));
  echo("a date", "echo.a_date", date("2024-02-29"));
  echo("a time", "echo.a_datetime", time("1969-12-31T23:59:59.999999Z"));
  echo("a negative length of time", "echo.a_timedelta", duration(-259_199_999_983n));
  echo("a long length of time", "echo.a_timedelta", duration(63_113_904_000_123_456n));
  echo("a decimal", "echo.a_decimal", decimal("12345678901234567890.123456789"));
  echo("a member of an enum", "echo.a_kind", "l");
  echo("a struct", "echo.a_point", struct({ x: float(1.5), y: null }));
  echo("a struct with a large integer", "echo.a_point", struct({ x: float(-1), y: int(LARGEST) }));
  echo("a list of integers of all sizes", "echo.a_list", [int(1), int(LARGEST), int(-3)]);
  echo("an empty list", "echo.a_list", []);
  echo("a set", "echo.a_set", set("b", "a", "ä"));
  echo("JSON", "echo.a_json", json({ deep: [1, "x", null, { k: 2.5, "": true }] }));
  const types = [
    "int",
    "float",
    "str",
    "bool",
    "bytes",
    "date",
    "datetime",
    "timedelta",
    "decimal",
    "kind",
    "point",
    "list",
    "set",
    "json",
  ];
  const nothing = Object.fromEntries(types.map((type) => [`echo.a_${type}`, null]));
  query("null of every type", { inputs: { "echo.id": int(1), ...nothing }, outputs: Object.keys(nothing), expect: { values: nothing } });
  query("an expression of integers beyond 2^53", {
    inputs: { "echo.id": int(SMALLEST), "echo.a_int": int(BEYOND) },
    outputs: ["echo.id", "echo.next_int"],
    expect: { values: { "echo.id": int(SMALLEST), "echo.next_int": int(BEYOND + 1n) } },
  });

  for (const [name, hit, options] of [
    ["a value that is computed", false, {}],
    ["a value that was stored", true, {}],
    ["a stored value that is too old", false, { staleness: { "user.name": "0s" } }],
    ["a stored value that no option may read", false, { planner_options: { disable_cache_reads: true } }],
  ] as const)
    query(
      name,
      user(
        20,
        ["user.name"],
        { "user.name": nameOf(id(20)) },
        { options: { ...options, include_meta: true } },
        { hits: { "user.name": hit } },
      ),
    );
  upload("values", {
    inputs: { "user.id": [int(id(21)), int(id(22))], "user.points": [int(5), int(BEYOND)] },
    expect: { stored: [2, 2, 2] },
  });
  query(
    "a value that was uploaded, and what needs it",
    user(22, ["user.points", "user.doubled"], { "user.points": int(BEYOND), "user.doubled": int(BEYOND * 2n) }),
  );
  upload("values that are only checked", {
    inputs: { "user.id": [int(id(23))], "user.points": [int(7)] },
    dry_run: true,
    expect: { stored: [1, 0, 0] },
  });
  query(
    "a value that nothing gives, and what needs it",
    user(
      23,
      ["user.points", "user.doubled"],
      { "user.points": null, "user.doubled": null },
      {},
      {
        errors: [
          { code: "RESOLVER_NOT_FOUND", category: "FIELD", message: "not in the online store", feature: "user.points" },
          { code: "UPSTREAM_FAILED", category: "FIELD", message: "needs user.points", feature: "user.doubled" },
        ],
      },
    ),
  );
  query(
    "a named query",
    user(24, [], { "user.score": float(scoreOf(id(24))) }, { options: { query_name: "scores", query_name_version: "1.0.0" } }),
  );
  query(
    "the latest version of a named query",
    user(24, [], { "user.score": float(scoreOf(id(24))), "user.name": nameOf(id(24)) }, { options: { query_name: "scores" } }),
  );
  query("a plan", user(25, ["user.score"], { "user.score": float(scoreOf(id(25))) }, { options: { explain: true } }, { explained: true }));
  query("a trace", user(25, ["user.score"], { "user.score": float(scoreOf(id(25))) }, { options: { trace: true } }, { traced: true }));
  query("a branch", user(26, ["user.name"], { "user.name": `branch-${id(26)}` }, { client: { branch: "try" } }));

  query(
    "an exception beside a value",
    user(
      13,
      ["user.fragile", "user.score"],
      { "user.fragile": null, "user.score": float(scoreOf(id(13))) },
      {},
      {
        errors: [
          {
            code: "RESOLVER_FAILED",
            category: "FIELD",
            message: "unlucky number",
            feature: "user.fragile",
            resolver: "resolvers.fragile",
            kind: "ValueError",
          },
        ],
      },
    ),
  );
  query("a value of a wrong type, and what needs it", {
    inputs: { "trouble.id": int(1) },
    outputs: ["trouble.wrong", "trouble.needs_wrong"],
    expect: {
      values: { "trouble.wrong": null, "trouble.needs_wrong": null },
      errors: [
        { code: "VALIDATION_FAILED", category: "FIELD", message: "expected int", feature: "trouble.wrong", resolver: "resolvers.wrong" },
        { code: "UPSTREAM_FAILED", category: "FIELD", message: "needs trouble.wrong", feature: "trouble.needs_wrong" },
      ],
    },
  });
  query("an integer that overflows", {
    inputs: { "echo.id": int(1), "echo.a_int": int(LARGEST) },
    outputs: ["echo.next_int", "echo.a_int"],
    expect: {
      values: { "echo.next_int": null, "echo.a_int": int(LARGEST) },
      errors: [{ code: "RESOLVER_FAILED", category: "FIELD", message: "overflow", feature: "echo.next_int" }],
    },
  });
  query("a deadline", {
    inputs: { "trouble.id": int(2) },
    outputs: ["trouble.slow", "trouble.id"],
    client: { timeout_ms: 1_500 },
    expect: {
      values: { "trouble.slow": null, "trouble.id": int(2) },
      errors: [{ code: "DEADLINE_EXCEEDED", category: "FIELD", message: "deadline", feature: "trouble.slow" }],
    },
  });
  const wrong = (
    name: string,
    inputs: Readonly<Record<string, Value>>,
    outputs: readonly string[],
    expect: Expected,
    more: Partial<Request> = {},
  ) => query(name, { inputs, outputs, ...more, expect });
  const one = { "user.id": int(id(1)) };
  wrong("an unknown output", one, ["user.nam"], refused("PARSE_FAILED", "did you mean 'user.name'", "user.nam"));
  wrong("an unknown input", { "user.idd": int(1) }, ["user.name"], refused("PARSE_FAILED", "did you mean 'user.id'", "user.idd"));
  wrong("an input of a wrong type", { "user.id": "x" }, ["user.name"], refused("PARSE_FAILED", "expected int", "user.id"));
  wrong("an integer beyond 64 bits", { "echo.id": int(LARGEST + 1n) }, ["echo.id"], refused("PARSE_FAILED", "out of range", "echo.id"));
  wrong("null where a value is needed", { "user.id": null }, ["user.name"], refused("PARSE_FAILED", "not optional", "user.id"));
  wrong(
    "a member that an enum does not have",
    { "echo.id": int(1), "echo.a_kind": "x" },
    ["echo.a_kind"],
    refused("PARSE_FAILED", "one of s, l", "echo.a_kind"),
  );
  wrong(
    "an output that nothing can give",
    { "user.name": "x" },
    ["user.score"],
    refused("RESOLVER_NOT_FOUND", "no resolver can produce", "user.score"),
  );
  wrong("two classes at once", { ...one, "team.id": int(1) }, ["user.score"], refused("INVALID_QUERY", "must share one root", "team.id"));
  wrong("nothing", {}, [], refused("INVALID_QUERY", "no inputs and no outputs"));
  wrong("a time that is none", one, ["user.score"], refused("PARSE_FAILED", "ISO 8601"), { options: { now: "soon" } });
  wrong("an unknown option", one, ["user.score"], refused("INVALID_QUERY", "unknown planner option"), {
    options: { planner_options: { nope: true } },
  });
  wrong("an unknown version of a named query", one, [], refused("INVALID_QUERY", "its versions are"), {
    options: { query_name: "scores", query_name_version: "9.0.0" },
  });
  wrong("an unknown branch", one, ["user.score"], refused("INVALID_QUERY", "Nothing is live on branch 'nope'"), {
    client: { branch: "nope" },
  });
  wrong("an unknown environment", one, ["user.score"], refused("INVALID_QUERY", "no environment 'nope'"), {
    client: { environment: "nope" },
  });
  wrong("an unknown deployment", one, ["user.score"], refused("INVALID_QUERY", "no deployment 'dpl_nope'"), {
    client: { deployment_id: "dpl_nope" },
  });
  wrong("a wrong secret", one, ["user.score"], { refused: "authentication" }, { client: { client_secret: "sec_wrong" } });
  wrong("a server that is not there", one, ["user.score"], { refused: "unreachable" }, { client: { api_server: "http://127.0.0.1:9" } });

  const ids = [1, 2, 13, 4].map(id);
  bulk("many rows", {
    inputs: { "user.id": ids.map(int) },
    outputs: ["user.name", "user.score", "user.orders"],
    expect: {
      columns: {
        "user.name": ids.map(nameOf),
        "user.score": ids.map((one) => float(scoreOf(one))),
        "user.orders": ids.map((one) => all(ordersOf(one))),
      },
    },
  });
  bulk("rows that fail among others", {
    inputs: { "user.id": ids.map(int) },
    outputs: ["user.fragile", "user.id"],
    expect: {
      columns: { "user.fragile": ids.map((one) => (one % 100 === 13 ? null : int(one))), "user.id": ids.map(int) },
      errors: [
        {
          code: "RESOLVER_FAILED",
          category: "FIELD",
          message: "unlucky number",
          feature: "user.fragile",
          resolver: "resolvers.fragile",
          kind: "ValueError",
          row: 2,
        },
      ],
    },
  });
  const sizes = [1n, BEYOND, SMALLEST, LARGEST];
  bulk("integers of all sizes in one column", {
    inputs: { "echo.id": sizes.map(int), "echo.a_float": [float(0.5)] },
    outputs: ["echo.id", "echo.a_float"],
    expect: { columns: { "echo.id": sizes.map(int), "echo.a_float": sizes.map(() => float(0.5)) } },
  });
  const times = ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00.5Z"];
  bulk("a time for each row", {
    inputs: { "user.id": [int(id(1)), int(id(2))] },
    outputs: ["user.asked_at"],
    options: { now: times },
    expect: {
      columns: { "user.asked_at": times.map((at) => time(at.replace(/(?:\.5)?Z$/, (end) => (end === "Z" ? ".000000Z" : ".500000Z")))) },
    },
  });
  const many = Array.from({ length: 500 }, (_, at) => id(at));
  bulk("five hundred rows", {
    inputs: { "user.id": many.map(int) },
    outputs: ["user.score"],
    expect: { columns: { "user.score": many.map((one) => float(scoreOf(one))) } },
  });
  bulk("no rows", { inputs: { "user.id": [] }, outputs: ["user.score"], expect: { columns: { "user.score": [] } } });
  bulk("columns of several lengths", {
    inputs: { "user.id": [int(1), int(2)], "user.points": [int(1), int(2), int(3)] },
    outputs: ["user.doubled"],
    expect: refused("INVALID_QUERY", "as many values as each other", "user.points"),
  });
  upload("a value of a wrong type", {
    inputs: { "user.id": [int(1), int(2)], "user.points": [int(5), "x"] },
    expect: { refused: "query", errors: [{ code: "PARSE_FAILED", category: "REQUEST", message: "expected int", row: 2 }] },
  });
  upload("no primary key", { inputs: { "user.points": [int(5)] }, expect: refused("PARSE_FAILED", "it is missing") });
  upload("a feature that does not exist", {
    inputs: { "user.id": [int(1)], "user.points": [int(1)], "user.pts": [int(5)] },
    expect: refused("PARSE_FAILED", "no such feature"),
  });
  const together = (name: string, queries: readonly Request[], expect: Expected = { outcomes: queries.map((one) => one.expect) }) =>
    void table.push({ name, call: "multi", inputs: {}, queries, expect });
  const named = (...names: readonly string[]) => names.map((name) => table.find((one) => one.name === name) as Request);
  together("several queries", [
    ...named(
      "one feature",
      "rows of a has-many relation",
      "a path through a has-one relation",
      "the integer 9223372036854775807, there and back",
    ),
    ...named("tags and the query's context", "a time with microseconds", "no outputs: the class of the input", "a trace"),
  ]);
  together("queries that fail among others", [
    ...named("an unknown output", "an exception beside a value", "an unknown version of a named query", "one feature", "nothing"),
  ]);
  together("one query", named("a named query"));
  const bounds = refused("PARSE_FAILED", "1 to 100");
  together("no queries", [], bounds);
  together("more queries than go together", Array<readonly Request[]>(101).fill(named("one feature")).flat(), bounds);
  return table;
}

/** What a runner says of a request, as JSON. Members that do not apply are absent. */
export interface Outcome {
  readonly values?: Readonly<Record<string, unknown>>;
  readonly columns?: Readonly<Record<string, readonly unknown[]>>;
  readonly errors?: readonly {
    readonly code?: string;
    readonly category?: string;
    readonly message?: string;
    readonly feature?: string;
    readonly resolver?: string;
    readonly kind?: string;
    readonly row?: number;
  }[];
  readonly hits?: Readonly<Record<string, boolean>>;
  readonly inferred?: readonly string[];
  readonly explained?: boolean;
  readonly traced?: boolean;
  readonly stored?: readonly number[];
  readonly outcomes?: readonly Outcome[];
  readonly refused?: string;
}
