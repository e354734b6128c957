/**
 * The analyzer on fixture projects: the graph of a sound one, and what every rule says of an
 * unsound one.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { type Diagnostic, Severity } from "../../gen/svc/v1/error_pb.ts";
import { type Feature, type Graph, GraphSchema, ResolverKind, SourceKind } from "../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../gen/svc/v1/value_pb.ts";
import { typeName } from "../../src/domain/value.ts";
import { policyFindings } from "../../src/project/lint/policy.ts";
import type { MetadataPolicy } from "../../src/project/project.ts";
import { analyzeFixture, analyzeFixtures, FIXTURES, PYTHON_FLAGS, placed } from "./analyze.ts";
import { EXPECTED_FINDINGS } from "./expected-findings.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

setDefaultTimeout(300_000);

function featureOf(graph: Graph, fqn: string): Feature {
  const found = graph.featureSets.flatMap((set) => set.features).find((feature) => feature.fqn === fqn);
  if (!found) throw new Error(`no feature ${fqn}`);
  return found;
}

function scalarOf(graph: Graph, fqn: string) {
  const { kind } = featureOf(graph, fqn);
  if (kind.case !== "scalar") throw new Error(`${fqn} is no scalar`);
  return kind.value;
}

function resolverOf(graph: Graph, fqn: string) {
  const found = graph.resolvers.find((resolver) => resolver.fqn === fqn);
  if (!found) throw new Error(`no resolver ${fqn}`);
  return found;
}

/** The one finding at a file. */
function findingAt(diagnostics: readonly Diagnostic[], file: string): Diagnostic {
  const found = diagnostics.filter((diagnostic) => diagnostic.span?.file === file);
  expect(found.map((diagnostic) => `${diagnostic.code} ${diagnostic.message}`)).toHaveLength(1);
  return found[0] as Diagnostic;
}

describe("a sound project", async () => {
  const { graph, stdout, stderr } = await analyzeFixture("shop", { python: INTERPRETERS[0]?.path });

  test("has no findings, and what it prints goes to stderr", () => {
    expect(graph.diagnostics.map((diagnostic) => diagnostic.message)).toEqual([]);
    expect(stdout).toBe("");
    expect(stderr).toBe("imported\n");
    expect(graph.sdkVersion).toBe("0.1.0");
    expect(graph.pythonVersion).toStartWith(`${INTERPRETERS[0]?.version}.`);
  });

  test("feature sets, sorted, with keys and metadata", () => {
    expect(graph.featureSets.map((set) => [set.namespace, set.className, set.module, set.primaryKey, set.featureTime])).toEqual([
      ["customer", "Customer", "store.customers", "customer.number", "customer.seen"],
      ["order", "Order", "store.orders", "order.id", ""],
    ]);
    expect(graph.featureSets[0]).toMatchObject({ owner: "crm@example.com", tags: ["team:crm", "people"], description: "Who buys." });
    expect(graph.featureSets[0]?.span).toMatchObject({ file: "store/customers.py", line: 27, column: 7, endLine: 27, endColumn: 15 });
  });

  test("types", () => {
    const names = graph.featureSets[0]?.features.map((feature) =>
      feature.kind.case === "scalar"
        ? `${feature.name}: ${typeName(feature.kind.value.dtype)}${feature.kind.value.nullable ? "?" : ""}`
        : feature.name,
    );
    expect(names).toEqual([
      "number: str",
      "seen: datetime",
      "address: Place?",
      "tier: Tier",
      "email: str",
      "born: date",
      "joined: datetime",
      "patience: timedelta",
      "credit: Decimal",
      "photo: bytes",
      "score: float",
      "visits: int",
      "labels: set[str]",
      "history: list[float]",
      "notes: json?",
      "newest",
      "first_order_id: int?",
      "first_order",
      "salutation: str",
    ]);
    const place = scalarOf(graph, "customer.address").dtype?.kind;
    expect(place?.case === "struct" && place.value.fields.map((field) => [field.name, typeName(field.dtype), field.nullable])).toEqual([
      ["street", "str", false],
      ["floor", "int", true],
    ]);
    const tier = scalarOf(graph, "customer.tier").dtype?.kind;
    expect(tier?.case === "enum" && [tier.value.base, tier.value.members.map((member) => [member.name, member.value?.kind.value])]).toEqual(
      [
        PrimitiveType.INT64,
        [
          ["BASIC", 1n],
          ["GOLD", 2n],
        ],
      ],
    );
    const history = scalarOf(graph, "customer.history").dtype?.kind;
    expect(history?.case === "list" && [history.value.elementNullable, history.value.set]).toEqual([true, false]);
  });

  test("defaults keep their exact value", () => {
    const defaults = Object.fromEntries(
      (graph.featureSets[0]?.features ?? []).flatMap((feature) =>
        feature.kind.case === "scalar" && feature.kind.value.defaultValue ? [[feature.name, feature.kind.value.defaultValue.kind]] : [],
      ),
    );
    expect(defaults).toMatchObject({
      tier: { case: "int64Value", value: 1n },
      email: { case: "stringValue", value: "n/a" },
      born: { case: "dateValue", value: { year: 1970, month: 1, day: 1 } },
      joined: { case: "timestampValue", value: { seconds: 1577881800n, nanos: 0 } },
      patience: { case: "durationValue", value: { seconds: 90n, nanos: 5000 } },
      credit: { case: "decimalValue", value: "10.50" },
      photo: { case: "bytesValue", value: new Uint8Array([0, 1]) },
      score: { case: "doubleValue", value: Number.NaN },
      visits: { case: "int64Value", value: 9007199254740993n },
      notes: { case: "nullValue" },
    });
    expect(defaults.labels).toMatchObject({ value: { values: [{ kind: { value: "a" } }, { kind: { value: "b" } }] } });
    expect(defaults.history).toMatchObject({ value: { values: [{ kind: { value: 1.5 } }, { kind: { case: "nullValue" } }] } });
    expect(Object.keys(defaults)).toHaveLength(12);
  });

  test("owner, tags and description from options, comment and class", () => {
    expect(featureOf(graph, "customer.address")).toMatchObject({
      owner: "logistics@example.com",
      tags: ["pii", "team:crm", "people"],
      description: "Where the parcel goes",
    });
    expect(featureOf(graph, "customer.email")).toMatchObject({
      owner: "crm@example.com",
      tags: ["pii", "team:crm", "people"],
      description: "Where the bill goes",
    });
    expect(featureOf(graph, "order.total")).toMatchObject({ owner: "", tags: [], description: "" });
  });

  test("staleness of the feature, else of the class; none for keys and relations", () => {
    const seconds = (fqn: string) => featureOf(graph, fqn).maxStaleness?.seconds;
    expect([seconds("customer.address"), seconds("customer.email"), seconds("customer.score")]).toEqual([86400n, 0n, 315576000000n]);
    expect([seconds("order.total"), seconds("order.id"), seconds("order.customer")]).toEqual([5400n, undefined, undefined]);
  });

  test("relations and foreign keys", () => {
    const relation = (fqn: string) => {
      const { kind } = featureOf(graph, fqn);
      if (kind.case !== "hasOne") throw new Error(`${fqn} is no relation`);
      const joined = kind.value.join.map((key) => `${key.local} = ${key.foreign}`);
      return [kind.value.foreignNamespace, kind.value.optional, ...joined];
    };
    expect(relation("customer.newest")).toEqual(["order", true, "customer.number = order.customer_number", "customer.tier = order.tier"]);
    expect(relation("customer.first_order")).toEqual(["order", true, "customer.first_order_id = order.id"]);
    expect(relation("order.customer")).toEqual(["customer", false, "order.customer_number = customer.number"]);
    expect(scalarOf(graph, "order.customer_number").references).toBe("customer.number");
    expect(scalarOf(graph, "customer.number").primary).toBe(true);
  });

  test("resolvers", () => {
    expect(graph.resolvers.map((resolver) => resolver.fqn)).toEqual(["resolvers.order_totals", "resolvers.salutation", "resolvers.scores"]);
    expect(resolverOf(graph, "resolvers.salutation")).toMatchObject({
      kind: ResolverKind.ONLINE,
      outputs: ["customer.salutation"],
      description: "How we greet.\n\nPolitely.",
      tags: [],
      schedule: "",
      body: { case: "python", value: { module: "resolvers", name: "salutation", isAsync: false } },
    });
    const scores = resolverOf(graph, "resolvers.scores");
    expect(scores).toMatchObject({
      kind: ResolverKind.OFFLINE,
      outputs: ["customer.credit", "customer.visits"],
      tags: ["slow", "batch"],
      environments: ["prod", "staging"],
      timeout: { seconds: 90n, nanos: 0 },
      schedule: "12h",
      owner: "ml@example.com",
      description: "Read by the offline jobs only",
      body: { case: "python", value: { isAsync: true } },
    });
    expect(scores.inputs).toMatchObject([
      { name: "number", kind: { case: "feature", value: { path: "customer.number", optional: false } } },
      { name: "now", kind: { case: "now" } },
      {
        name: "score",
        kind: {
          case: "feature",
          value: { path: "customer.score", optional: true, defaultValue: { kind: { case: "doubleValue", value: -1 } } },
        },
      },
      { name: "street", kind: { case: "feature", value: { path: "customer.newest.weight", optional: true } } },
    ]);
    expect(resolverOf(graph, "resolvers.order_totals")).toMatchObject({
      outputs: ["order.total", "order.weight"],
      environments: ["prod"],
      timeout: { seconds: 0n, nanos: 250_000_000 },
      schedule: "*/5 * * * *",
      body: { case: "python", value: { name: "totals" } },
    });
  });

  test("a resolver's hash is that of its text with the decorators", () => {
    const text = readFileSync(join(FIXTURES, "shop/resolvers.py"), "utf8");
    const start = text.indexOf("@online\ndef salutation");
    const body = text.slice(start, text.indexOf("\n\n\n", start));
    expect(resolverOf(graph, "resolvers.salutation").sourceSha256).toBe(createHash("sha256").update(body).digest("hex"));
    expect(new Set(graph.resolvers.map((resolver) => resolver.sourceSha256)).size).toBe(3);
  });

  test("named queries and sources", () => {
    expect(graph.namedQueries.map((query) => [query.name, query.version])).toEqual([
      ["card", ""],
      ["card", "1.0.1"],
    ]);
    expect(graph.namedQueries[1]).toMatchObject({
      inputs: ["customer.number"],
      outputs: [
        "customer.salutation",
        "customer.newest.total",
        "customer.first_order.id",
        "customer.first_order.customer_number",
        "customer.first_order.tier",
        "customer.first_order.total",
        "customer.first_order.weight",
      ],
      tags: ["a"],
      staleness: { "customer.score": { seconds: 3600n }, "customer.newest.total": { seconds: 1n, nanos: 500_000_000 } },
      plannerOptions: { depth: "3" },
      owner: "ml@example.com",
      description: "A card",
    });
    expect(graph.namedQueries[0]?.outputs).toHaveLength(17);
    expect(graph.sources.map((source) => [source.name, source.kind, source.settings])).toEqual([
      ["lite", SourceKind.SQLITE, { path: "data/shop.db" }],
      ["my", SourceKind.MYSQL, {}],
      ["pg", SourceKind.POSTGRESQL, { host: "db.example.com", port: "5433", database: "shop", user: "reader" }],
    ]);
  });
});

test("monitors: bounds as texts, webhooks by name", async () => {
  const { graph } = await analyzeFixture("173-monitors");
  const told = graph.monitors.map(({ above, below, expression, name, owner, pendingFor, severity, webhooks }) => ({
    ...{
      name,
      expression,
      bound: above ? `> ${above}` : `< ${below}`,
      seconds: Number(pendingFor?.seconds ?? 0),
      severity,
      webhooks,
      owner,
    },
  }));
  expect(told).toEqual([
    { name: "least", expression: "sum:query.count", bound: "< 1", seconds: 0, severity: "warning", webhooks: [], owner: "" },
    { name: "other", expression: "sum:query.count", bound: "< 1", seconds: 0, severity: "warning", webhooks: [], owner: "" },
    {
      ...{ name: "share", expression: "sum:query.errors / sum:query.count", bound: "> 0.05", seconds: 0, severity: "warning" },
      ...{ webhooks: ["ops"], owner: "a@b.c" },
    },
    {
      ...{ name: "sound", expression: "p99:query.latency.rollup(5m)", bound: "> 80ms", seconds: 600, severity: "critical" },
      ...{ webhooks: ["ops", "a b"], owner: "" },
    },
  ]);
});

test("evaluations: the function with its columns, datasets with revisions, scorers by kind", async () => {
  const { graph } = await analyzeFixture("177-evaluations");
  const told = graph.evaluations.map(({ name, dataset, revision, task, inputs, scorers, key }) => ({
    ...{ name, dataset, revision, task, key, inputs: Object.fromEntries(inputs.map(({ parameter, column }) => [parameter, column])) },
    scorers: scorers.map(({ name, kind }) => `${name} ${kind.case}`),
  }));
  const task = "features.answer";
  expect(told).toEqual([
    {
      ...{ name: "all", dataset: "tickets", revision: "rev_0198c0de", task, key: "id", inputs: { text: "text" } },
      scorers: ["exact_match exactMatch", "has contains", "numeric numeric", "polite function", "judge judge"],
    },
    {
      ...{ name: "named", dataset: "", revision: "rev_0198c0de", task, key: "", inputs: { text: "user.text", tone: "tone" } },
      scorers: ["contains contains"],
    },
    {
      ...{ name: "option", dataset: "a", revision: "", task, key: "", inputs: { text: "text" } },
      scorers: ["contains contains"],
    },
    {
      ...{ name: "placed", dataset: "a@b", revision: "", task, key: "", inputs: { text: "body", tone: "tone" } },
      scorers: ["contains contains"],
    },
  ]);
});

describe("rules", () => {
  test.each(Object.keys(EXPECTED_FINDINGS))("%s", async (fixture) => {
    const { graph } = await analyzeFixture(fixture);
    const found = graph.diagnostics.map((item) => [placed(fixture, item), item.message, item.label]);
    expect(found).toEqual((EXPECTED_FINDINGS[fixture] ?? []).map((row) => [...row]));
  });

  test("the second place of a finding", async () => {
    const related = async (fixture: string) =>
      (await analyzeFixture(fixture)).graph.diagnostics.map((item) =>
        item.related.map(({ span, message }) => `${span?.file}:${span?.line}:${span?.column} ${message}`),
      );
    expect(await related("111-namespace")).toEqual([["a.py:5:7 'user' is first defined here"]]);
    expect(await related("113-two-keys")).toEqual([["features.py:6:5 the first primary key"]]);
    expect(await related("121-ambiguous")).toEqual([
      ["features.py:12:5 possible: Route.start == Airport.id", "features.py:13:5 possible: Route.end == Airport.id"],
    ]);
    expect(await related("123-join-types")).toEqual([["features.py:12:9 'user.id' is int", "features.py:7:12 'account.owner' is str"]]);
    expect(await related("148-names")).toEqual([["resolvers.py:13:5 first defined here"]]);
    expect((await related("170-queries")).filter((item) => item.length > 0)).toEqual([["queries.py:20:17 first defined here"]]);
  });

  test("120 and 121 spell the join out", async () => {
    const hint = async (fixture: string) => (await analyzeFixture(fixture)).graph.diagnostics[0]?.hint;
    expect(await hint("120-no-join")).toBe('account: "Account | None" = has_one(lambda: User.account_id == Account.id)');
    expect(await hint("121-ambiguous")).toBe('via: "Airport" = has_one(lambda: Route.start == Airport.id)');
  });

  test("of a resolver written twice the last one counts", async () => {
    const { graph } = await analyzeFixture("148-names");
    expect(resolverOf(graph, "resolvers.again").span?.line).toBe(28);
  });

  test("192 follows the policy about what was analyzed, with its severities", async () => {
    const policy: MetadataPolicy = {
      feature: [
        { name: "owner", missing: "error" },
        { name: "description", missing: "warn" },
        { name: "tags", missing: "error" },
      ],
      resolver: [
        { name: "owner", missing: "warn" },
        { name: "description", missing: "error" },
      ],
    };
    const { graph } = await analyzeFixture("192-policy");
    expect(policyFindings(graph, policy).map((item) => [placed("192-policy", item), item.message])).toEqual([
      [
        "E192 project.py:10:5 name",
        "'user.name' has no owner, which this project asks of every feature: write '# :owner: name@example.com' above it, or owner= at the class",
      ],
      ["W192 project.py:10:5 name", "'user.name' has no description, which this project asks of every feature: write a comment above it"],
      ["W192 project.py:14:5 f", "'project.f' has no owner, which this project asks of every resolver: write owner= in its decorator"],
    ]);
    expect(policyFindings(graph, {})).toEqual([]);
    expect(graph.diagnostics).toEqual([]);
  });
});

describe("a project that does not import", () => {
  test("101 has Python's words and place, once, also when another module imports the file", async () => {
    const { graph } = await analyzeFixture("101-syntax");
    const finding = findingAt(graph.diagnostics, "features.py");
    expect(graph.diagnostics).toHaveLength(1);
    expect(finding).toMatchObject({ code: 101, severity: Severity.ERROR, span: { line: 7, column: 16 }, label: "syntax error" });
    expect(finding.message).toMatch(/^invalid syntax \(Python 3\.1[0-3]\.\d+\)$/);
  });

  test("102 names the exception, the innermost project frame and the last frames", async () => {
    const { graph } = await analyzeFixture("102-exception");
    expect(graph.diagnostics).toHaveLength(1);
    const finding = findingAt(graph.diagnostics, "model/load.py");
    expect(placed("102-exception", finding)).toBe("E102 model/load.py:2:5 return a / b");
    expect(finding.message).toBe(
      [
        "model/load.py cannot be imported: ZeroDivisionError: division by zero (model/load.py:2)",
        "  model/load.py:5 in <module>: SCALE = ratio(1, 0)",
        "  model/load.py:2 in ratio: return a / b",
      ].join("\n"),
    );
  });

  test("102 says which requirements file lacks a package", async () => {
    const { graph } = await analyzeFixture("102-packages");
    expect(graph.diagnostics.map((item) => [placed("102-packages", item), item.message, item.hint])).toEqual([
      [
        "E102 scoring.py:2:6 sklearn_nowhere.linear_model",
        "scoring.py cannot be imported: ModuleNotFoundError: No module named 'sklearn_nowhere' (scoring.py:2)",
        "'sklearn_nowhere' is missing from requirements.txt: add it there.",
      ],
      [
        "E102 vision.py:1:8 cv2_nowhere",
        "vision.py cannot be imported: ModuleNotFoundError: No module named 'cv2_nowhere' (vision.py:1)",
        "'cv2_nowhere' is missing from requirements.txt: add it there.",
      ],
    ]);
  });

  test("102 points at the name and says what to do", async () => {
    const { graph } = await analyzeFixture("102-names");
    expect(graph.diagnostics.map((item) => [placed("102-names", item), item.hint])).toEqual([
      ["E102 elsewhere.py:5:23 Card", "'Card' is defined in later.py: add 'from later import Card'."],
      ["E105 features.py:1:45 has_onne", ""],
      ["E102 later.py:7:11 Holder", "'Holder' is defined further down: put the annotation in quotes, \"Holder\"."],
      ["E102 package/inner.py:1:8 package.inne", "The project has no module 'package.inne'; did you mean 'package.inner'?"],
      ["E102 random.py:1:1 ", ""],
      ["E102 types.py:1:1 ", ""],
    ]);
    expect(findingAt(graph.diagnostics, "types.py").message).toBe(
      "types.py cannot be imported: it would hide the module 'types' of Python's standard library from every package; rename it",
    );
  });

  test("102 for names and modules that are not there says which are", async () => {
    const { graph } = await analyzeFixture("102-imports");
    expect(graph.diagnostics.map((item) => [placed("102-imports", item), item.message, item.hint])).toEqual([
      [
        "E102 closest.py:1:19 Usr",
        "closest.py cannot be imported: ImportError: cannot import name 'Usr' from 'users' (closest.py:1)",
        "Did you mean 'User'?",
      ],
      [
        "E102 moved.py:1:19 Order",
        "moved.py cannot be imported: ImportError: cannot import name 'Order' from 'users' (moved.py:1)",
        "'Order' is defined in orders.py: import it from 'orders'.",
      ],
      [
        "E105 sourced.py:1:25 RedshiftSource",
        "this version of svc has no 'RedshiftSource': SQL resolvers read PostgreSQLSource, MySQLSource, SQLiteSource, DuckDBSource, ClickhouseSource, SnowflakeSource and BigQuerySource",
        "",
      ],
      ["E105 submodule.py:1:8 svc.feature", "this version of svc has no module 'svc.feature'; did you mean 'svc.features'?", ""],
      [
        "E102 undefined.py:6:11 Usr",
        "undefined.py cannot be imported: NameError: name 'Usr' is not defined (undefined.py:6)",
        "Did you mean 'User'?",
      ],
    ]);
  });

  test("102 for the module `features` above a class says where the decorator is", async () => {
    const { graph } = await analyzeFixture("102-module");
    expect(graph.diagnostics.map(({ code, message, hint }) => [code, message, hint])).toEqual([
      [
        102,
        "module.py cannot be imported: TypeError: 'module' object is not callable (module.py:4)",
        "'features' of 'svc' is a module: write 'from svc.features import features'.",
      ],
    ]);
  });

  test("102 for modules that import each other, once for each circle", async () => {
    const { graph } = await analyzeFixture("102-cycle");
    expect(graph.diagnostics.map((item) => placed("102-cycle", item))).toEqual(["E102 b.py:1:15 A", "E102 y.py:3:7 X"]);
    const hint = "The modules import each other: import under 'if TYPE_CHECKING:' and put the annotations in quotes.";
    expect(graph.diagnostics.map((item) => item.hint)).toEqual([hint, hint]);
  });

  test("103 for a module that exits", async () => {
    const { graph } = await analyzeFixture("103-exit");
    const finding = findingAt(graph.diagnostics, "script.py");
    expect(placed("103-exit", finding)).toBe('E103 script.py:4:1 sys.exit("no arguments")');
    expect(finding.message).toBe("importing script.py exits the interpreter: SystemExit: no arguments (script.py:4)");
    expect(finding.hint).toContain('if __name__ == "__main__":');
  });

  test("what depends on a module that failed is not blamed", async () => {
    const { graph } = await analyzeFixture("102-dependants");
    expect(graph.diagnostics.map((item) => placed("102-dependants", item))).toEqual(["E102 accounts.py:3:6 nowhere_at_all"]);
    expect(graph.featureSets.map((set) => set.namespace)).toEqual(["user"]);
  });
});

describe("whatever a project does", async () => {
  const { graph, stdout } = await analyzeFixture("hostile");
  const at = (file: string) => graph.diagnostics.filter((item) => item.span?.file === file);

  test("output, threads and exit handlers do no harm", () => {
    expect(at("noisy.py")).toEqual([]);
    expect(stdout).toBe("");
  });

  test("objects that cannot be shown are described by their type", () => {
    expect(at("objects.py").map((item) => `${item.code} ${item.message.split(":")[0]}`)).toEqual([
      "115 the default of 'thing.default' does not fit its type",
      "114 the annotation cannot be read",
      '114 the annotation "1 / 0" cannot be evaluated',
      '114 the annotation "not python at all [" cannot be evaluated',
      "146 tags is Weird",
      "146 timeout is Weird, which is not a duration",
      "140 parameter 'other' has the type 'Weird', which names no feature",
      "143 'Weird' names no feature",
    ]);
  });

  test("exceptions of every kind are findings", () => {
    expect(at("raises.py")[0]?.message).toBe("raises.py cannot be imported: raises.Silent: <exception str() failed> (raises.py:6)");
    expect(at("surrogate.py")[0]?.message).toBe("surrogate.py cannot be imported: ValueError: \\ud800 (surrogate.py:1)");
    expect(at("generator.py")[0]).toMatchObject({ code: 102 });
    expect(at("reads.py")[0]?.message).toContain("EOFError");
  });

  test("files that are no Python are findings", () => {
    expect(["nul.py", "bytes.py", "deep.py"].map((file) => at(file).map((item) => item.code))).toEqual([[101], [101], [101]]);
    expect([at("empty.py"), at("replaced.py")]).toEqual([[], []]);
  });

  test("columns count code points in any encoding and with any line ends", () => {
    expect(at("latin.py")[0]).toMatchObject({ code: 124, span: { line: 9, column: 13, endColumn: 19 } });
    expect(at("windows.py")[0]).toMatchObject({ code: 124, span: { line: 10, column: 13, endColumn: 20 } });
    expect(featureOf(graph, "street.länge")).toMatchObject({ description: "Länge", span: { column: 5, endColumn: 10 } });
    expect(featureOf(graph, "windows.text").description).toBe("first line\nsecond line");
  });
});

describe("the command", () => {
  test("imports only the files that it is told", async () => {
    const { graph } = await analyzeFixture("111-namespace", { files: ["b.py"] });
    expect(graph.diagnostics).toEqual([]);
    expect(graph.featureSets.map((set) => set.className)).toEqual(["Customer"]);
  });

  test("a file that has gone is a finding", async () => {
    const { graph } = await analyzeFixture("111-namespace", { files: ["b.py", "gone.py"] });
    expect(graph.diagnostics.map((item) => `${item.code} ${item.span?.file}`)).toEqual(["101 gone.py"]);
  });

  test("user code sees TARGET_ROOT and its folder", async () => {
    const { graph } = await analyzeFixture("target-root");
    expect(graph.sources[0]?.settings.path).toBe(join(FIXTURES, "target-root", "data.db"));
    expect(graph.sources[1]?.settings.path).toBe("read: 1");
  });

  test("writes to stdout on demand, undisturbed by what user code prints", () => {
    const boot = join(SDK_ROOT, "svc/_boot.py");
    const python = INTERPRETERS.at(-1)?.path ?? "";
    const argv = [python, ...PYTHON_FLAGS, boot, "analyze", "--root", join(FIXTURES, "hostile"), "--out", "-"];
    const child = Bun.spawnSync(argv, { env: { PATH: process.env.PATH }, stdin: "ignore" });
    expect(Object.keys(JSON.parse(child.stdout.toString()) as object)).toContain("featureSets");
  });

  test("leaves no bytecode behind", () => {
    const found = readdirSync(FIXTURES, { recursive: true }).filter((path) => String(path).includes("__pycache__"));
    expect(found).toEqual([]);
  });

  test("a wrong mode is a usage error", () => {
    const child = Bun.spawnSync([INTERPRETERS.at(-1)?.path ?? "", join(SDK_ROOT, "svc/_boot.py"), "dance"], { stderr: "pipe" });
    expect([child.exitCode, child.stderr.toString()]).toEqual([
      2,
      "usage: _boot.py analyze|worker|task|evaluation|kernel --root <folder> ...\n",
    ]);
  });
});

const projects = [
  "shop",
  ...Object.keys(EXPECTED_FINDINGS),
  "102-exception",
  "102-packages",
  "102-names",
  "102-imports",
  "102-cycle",
  "103-exit",
];

test.each(INTERPRETERS.slice(0, -1).map((item) => [item.version, item.path] as const))(
  "Python %s says the same as the newest",
  async (_, python) => {
    const plain = (graph: Graph) => Buffer.from(toBinary(GraphSchema, { ...graph, pythonVersion: "" })).toString("hex");
    const graphs = await analyzeFixtures(projects, python);
    for (const [index, project] of projects.entries()) {
      const newest = await analyzeFixture(project);
      expect([project, plain(graphs[index] as Graph)]).toEqual([project, plain(newest.graph)]);
    }
  },
  600_000,
);
