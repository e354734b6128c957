import { describe, expect, test } from "bun:test";
import { ResolverKind, RowCount, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { completeStar } from "../../../src/domain/sql/columns.ts";
import { linkSqlFiles } from "../../../src/domain/sql/link.ts";
import { marked, shown, spanOf } from "../../harness/marked.ts";
import { graphOf, resolver } from "../build-graph.ts";

const classes = { User: "id name email at@ account_id account->Account", Account: "id balance" };
const sources = [{ name: "lite", kind: SourceKind.SQLITE }];
const header = "-- resolves: User\n-- source: lite\n";

/** Links one marked file and gives the findings with the places of the marks. */
function lint(source: string, file = "get_user.svc.sql", graph = graphOf(classes, { sources })) {
  const fixture = marked(source);
  const { resolvers, diagnostics } = linkSqlFiles([{ path: file, text: fixture.text }], graph);
  return { found: shown(diagnostics), places: fixture.marks.map((_, index) => spanOf(file, fixture, index)), resolvers, diagnostics };
}

/** One finding, which must be the only one, at the only mark. */
function expectOne(source: string, rule: string, message: string, label: string) {
  const { found, places, resolvers } = lint(source);
  expect(found).toEqual([{ rule, at: places[0] as string, message, label }]);
  expect(resolvers).toHaveLength(rule.startsWith("W") ? 1 : 0);
}

describe("rules", () => {
  test("146: timeout", () =>
    expectOne(
      `${header}-- timeout: «5 parsecs»\nselect id, name from t`,
      "E146",
      "`timeout` is '5 parsecs' but must be a duration such as 90s, 5m, 1h30m, 7d or 2w, longer than zero and at most a day",
      "not a timeout",
    ));

  test("146: count", () =>
    expectOne(
      `${header}-- count: «on»\nselect id from t`,
      "E146",
      "`count` is 'on' but must be 1, one, one_or_none or all",
      "not one of them",
    ));

  test("146: type", () =>
    expectOne(
      `${header}-- type: «streaming»\nselect id from t`,
      "E146",
      "`type` is 'streaming' but must be online or offline",
      "not one of them",
    ));

  test("146: cron", () =>
    expectOne(
      `${header}-- cron: «61 * * * *»\nselect id from t`,
      "E146",
      "`cron` is '61 * * * *' but must be a cron expression of five fields such as \"30 2 * * *\", or a duration such as 15m or 1d: minute '61' is outside of 0-59",
      "not a schedule",
    ));

  test("146: environment", () =>
    expectOne(
      `${header}-- environment: «[prod, "a b"]»\nselect id from t`,
      "E146",
      "'a b' is no name of an environment: letters, digits, '.', '_' and '-'",
      "not a name",
    ));

  test("146: total", () =>
    expectOne(`${header}-- total: «maybe»\nselect id from t`, "E146", "`total` must be true or false", "not a boolean"));

  test("148: two files of one name, and a Python resolver's name", () => {
    const graph = graphOf(classes, { sources, resolvers: [resolver("b: user.id -> user.email")] });
    const text = marked("-- resolves: «User»\n-- source: lite\nselect id, name from t");
    const files = ["x/a.svc.sql", "y/a.svc.sql", "b.svc.sql"].map((path) => ({ path, text: text.text }));
    const { resolvers, diagnostics } = linkSqlFiles(files, graph);
    expect(resolvers.map((found) => found.fqn)).toEqual(["a"]);
    const message = (name: string) =>
      `resolver name '${name}' is taken: a SQL file's name without folder and ending must be unique in the project`;
    expect(shown(diagnostics)).toEqual([
      { rule: "E148", at: spanOf("b.svc.sql", text), message: message("b"), label: "second resolver of this name" },
      { rule: "E148", at: spanOf("y/a.svc.sql", text), message: message("a"), label: "second resolver of this name" },
    ]);
    expect(diagnostics[1]?.related[0]?.span?.file).toBe("x/a.svc.sql");
    expect(diagnostics[1]?.related[0]?.message).toBe("first defined here");
  });

  test("149: no key among the columns, and none bound", () =>
    expectOne(
      `${header}select «name, email» from t`,
      "E149",
      "the query returns no 'id', the primary key of User: its rows cannot be matched to keys",
      "no primary key",
    ));

  test("150: no resolves, no source", () => {
    const { found, places } = lint("«--» about users\nselect 1");
    expect(found).toEqual([
      {
        rule: "E150",
        at: places[0] as string,
        message: "the header has no `resolves`: the feature class that its columns belong to, for example `-- resolves: User`",
        label: "no `resolves`",
      },
      {
        rule: "E150",
        at: places[0] as string,
        message: "the header has no `source`: the data source it reads, for example `-- source: pg`",
        label: "no `source`",
      },
    ]);
  });

  test.each([["-- «resolves»:"], ["-- «resolves»: ''"]])("150: %s is one mistake, and so is a value of another kind", (line) => {
    expectOne(
      `${line}\n-- source: lite\nselect id, name from t`,
      "E150",
      "the header's `resolves` is empty: the feature class that its columns belong to, for example `-- resolves: User`",
      "nothing behind it",
    );
    expectOne("-- source: lite\n-- resolves: «[User]»\nselect id, name from t", "E146", "`resolves` must be a text", "not a text");
  });

  test("151: no such class, with the closest", () =>
    expectOne(
      "-- source: lite\n-- resolves: «Usr»\nselect id from t",
      "E151",
      "no feature class is called 'Usr'; did you mean 'User'?",
      "no such class",
    ));

  test("151: no such class, nothing close", () =>
    expectOne(
      "-- source: lite\n-- resolves: «Warehouse»\nselect id from t",
      "E151",
      "no feature class is called 'Warehouse'; there are Account, User",
      "no such class",
    ));

  test("152: unknown key, with the closest", () =>
    expectOne(
      `${header}-- «timeuot»: 5s\nselect id from t`,
      "E152",
      "unknown header key 'timeuot'; did you mean 'timeout'?",
      "unknown key",
    ));

  test("152: a misspelt required key is said once", () =>
    expectOne(
      "-- resolves: User\n-- «sorce»: lite\nselect id from t",
      "E152",
      "unknown header key 'sorce'; did you mean 'source'?",
      "unknown key",
    ));

  test("146: max_staleness", () =>
    expectOne(
      `${header}-- max_staleness: «soon»\nselect id, name from t`,
      "E146",
      "`max_staleness` is 'soon' but must be a duration such as 90s, 5m, 1h30m, 7d or 2w, or infinity",
      "not a duration",
    ));

  test("197: unique_on names a column that the query does not return", () =>
    expectOne(
      `${header}-- unique_on: [id, «nmae»]\nselect id, name from t`,
      "E197",
      "`unique_on` names 'nmae', which the query does not return; did you mean 'name'?",
      "not an output",
    ));

  test("197: unique_on names a feature of the class that is no column", () =>
    expectOne(
      `${header}-- unique_on: «email»\nselect id, name from t`,
      "E197",
      "`unique_on` names 'email', which the query does not return; it returns id, name",
      "not an output",
    ));

  test("197: a column twice, under two names", () =>
    expectOne(`${header}-- unique_on: [name, «user.name»]\nselect id, name from t`, "E197", "'user.name' stands twice", "listed twice"));

  test("197: a relation", () =>
    expectOne(
      `${header}-- unique_on: [«account»]\nselect id, name from t`,
      "E197",
      "'account' is a relation: name a feature that holds a value",
      "a relation",
    ));

  test("197: one row has nothing to be compared with", () =>
    expectOne(
      `${header}-- count: one\n-- unique_on: [«name»]\nselect id, name from t where id = \${user.id}`,
      "E197",
      "`unique_on` compares the rows of a result, and with `count: one` there is one at most: take one of them out",
      "one row",
    ));

  test("198: partitioned_by has no rows to divide", () =>
    expectOne(
      `${header}-- «partitioned_by»: [email]\nselect id, name from t`,
      "E198",
      "`partitioned_by` divides the rows that a function is called with, and a statement is called with none: it runs once for each set of values that it binds, or for up to 1,000 keys. For a table with partitions bind the column, such as `where country = ${user.country}`, so that the database reads those alone",
      "without effect",
    ));

  test("unique_on and max_staleness are the resolver's", () => {
    const { found, places, resolvers } = lint(`${header}-- Unique-On: [id, EMAIL]\n-- max_staleness: «1h30m»\nselect id, email from t`);
    expect(found).toEqual([]);
    const [made] = resolvers;
    expect(made?.uniqueOn).toEqual(["user.id", "user.email"]);
    expect(made?.maxStaleness?.seconds).toBe(5_400n);
    const { file, line, column, endColumn } = made?.maxStalenessSpan ?? {};
    expect(`${file}:${line}:${column}-${endColumn}`).toBe("get_user.svc.sql:4:19-24");
    expect(places).toHaveLength(1);
  });

  test("unique_on of a `*` is taken on trust", () => {
    const { resolvers } = lint(`${header}-- unique_on: [email]\nselect * from t`);
    expect(resolvers[0]?.uniqueOn).toEqual(["user.email"]);
  });

  test("152: not YAML, on the line inside of the comment", () =>
    expectOne(
      "-- Users.\n-- resolves: User\n-- source: lite\n-- owner: «@team»\nselect id from t".replace("@team»", "@»team"),
      "E152",
      "the header is not YAML: plain value cannot start with reserved character @",
      "in this comment",
    ));

  test("152: `fields` of a column that is not selected", () =>
    expectOne(
      `${header}-- fields: {«uidd»: id}\nselect id, email from t`,
      "E152",
      "`fields` names column 'uidd', which the query does not return; did you mean 'id'?",
      "no such column",
    ));

  test("153: an output that the class does not have, the marker under the alias", () =>
    expectOne(
      `${header}select id, display as «nmae» from t`,
      "E153",
      "output feature 'nmae' does not exist in class User; the closest is 'name'",
      "no such feature",
    ));

  test("153: at most three closest names", () => {
    const graph = graphOf({ User: "id score scores scored scorer other" }, { sources });
    const { found } = lint(`${header}select id, x as scoer from t`, "q.svc.sql", graph);
    expect(found[0]?.message).toBe("output feature 'scoer' does not exist in class User; the closest are 'score', 'scorer' and 'scored'");
  });

  test("153: in `fields`, at the feature's name", () =>
    expectOne(
      `${header}-- fields: {uid: «ident»}\nselect uid, id, name from t`,
      "E153",
      "output feature 'ident' does not exist in class User; the closest is 'id'",
      "no such feature",
    ));

  test("153: a relation is no value", () =>
    expectOne(
      `${header}select id, «account» from t`,
      "E153",
      "output 'account' is a relation of class User, not a value; a SQL resolver gives values only",
      "a relation",
    ));

  test("155: neither a feature nor now", () =>
    expectOne(
      `${header}select id, name from t where a = «\${user.emial}»`,
      "E155",
      "${user.emial} is neither a feature nor now: 'emial' is no feature of class User; did you mean 'email'?",
      "no feature",
    ));

  test("155: a class that does not exist", () =>
    expectOne(
      `${header}select id, name from t where a = «\${usr.id}»`,
      "E155",
      "${usr.id} is neither a feature nor now: 'usr' is no feature class; did you mean 'user'?",
      "no feature",
    ));

  test("155: a feature of another class, with the way to it", () =>
    expectOne(
      `${header}select id, name from t where a = «\${account.balance}»`,
      "E155",
      "${account.balance} is a feature of class Account, but the file resolves User: write ${user.account.balance}",
      "no feature",
    ));

  test("155: not closed", () =>
    expectOne(
      `${header}select id, name from t where a = «\${»user.id`,
      "E155",
      "this placeholder has no closing `}` on its line",
      "opened here",
    ));

  test("155 warning: inside of a text literal", () =>
    expectOne(
      `${header}select id, name from t where a = '«\${now}»'`,
      "W155",
      "${now} stands in a text literal, where it is text and no parameter; take it out of the quotes",
      "not bound here",
    ));

  test("157: two columns for one feature", () => {
    const { found, places, diagnostics } = lint(`${header}select id, a as name, b as «name» from t`);
    expect(found).toEqual([
      { rule: "E157", at: places[0] as string, message: "two columns fill feature 'user.name'", label: "second column" },
    ]);
    expect(diagnostics[0]?.related.map(({ span, message }) => [span?.column, message])).toEqual([[17, "first column"]]);
  });

  test("157: a column without a name", () =>
    expectOne(
      `${header}select id, «count(*)» from t`,
      "E157",
      "this column has no name: write `as` and the feature that it fills",
      "column without a name",
    ));

  test("157: no query", () =>
    expectOne("«-- resolves: User»\n-- source: lite\n", "E157", "the file has no query behind its header", "no select list"));

  test("157: another statement than a query", () =>
    expectOne(`${header}«delete» from t`, "E157", "the file must be one query, but it begins with 'delete'", "no select list"));

  test("157: two statements", () =>
    expectOne(
      `${header}select id from t; «s»elect 1`,
      "E157",
      "a SQL resolver is one statement; a second one begins here",
      "second statement",
    ));

  test("158 warning: columns of a star", () =>
    expectOne(
      `${header}select t.id, «t.*» from t`,
      "W158",
      "the columns of `*` are known to the database alone: only the server can check them",
      "columns not known here",
    ));
});

describe("the resolver", () => {
  const one = (source: string, graph = graphOf(classes, { sources })) => {
    const { found, resolvers } = lint(source, "sub/get_user.svc.sql", graph);
    expect(found).toEqual([]);
    const [found1] = resolvers;
    if (found1?.body.case !== "sql") throw new Error("no SQL resolver");
    return { resolver: found1, sql: found1.body.value };
  };

  test("all of the header", () => {
    const { resolver: found, sql } = one(`-- Users of the app.
-- Resolves: user
-- source: lite
-- type: offline
-- count: one_or_none
-- tags: [team:risk, pii]
-- environment: prod
-- owner: a@example.com
-- timeout: 1m30s
-- cron: 15m
-- total: true
-- fields:
--   uid: id
-- They log in by mail.
select uid, name from t;
-- the end
`);
    expect(found.fqn).toBe("get_user");
    expect(found.kind).toBe(ResolverKind.OFFLINE);
    expect(found.tags).toEqual(["team:risk", "pii"]);
    expect(found.environments).toEqual(["prod"]);
    expect(found.owner).toBe("a@example.com");
    expect(found.timeout).toMatchObject({ seconds: 90n, nanos: 0 });
    expect(found.schedule).toBe("15m");
    expect(found.description).toBe("Users of the app.\nThey log in by mail.");
    expect(found.span).toMatchObject({ file: "sub/get_user.svc.sql", line: 2, column: 14, endLine: 2, endColumn: 18 });
    expect(found.sourceSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(sql).toMatchObject({
      source: "lite",
      body: "select uid, name from t",
      count: RowCount.ONE_OR_NONE,
      total: true,
      star: false,
      bodyLine: 15,
    });
    expect(sql.columns.map(({ column, feature }) => [column, feature])).toEqual([
      ["uid", "user.id"],
      ["name", "user.name"],
    ]);
  });

  test("without placeholders the primary key is the input, and no output", () => {
    const { resolver: found } = one(`${header}select id, name from t`);
    expect(found.inputs.map((input) => input.name)).toEqual(["user.id"]);
    expect(found.outputs).toEqual(["user.name"]);
  });

  test("placeholders are inputs, once each, in order, with their offsets in the body", () => {
    const body = "select id, name from t where a = ${user.account.balance} and b < ${ now } and c = ${user.account.balance}";
    const { resolver: found, sql } = one(header + body);
    expect(found.inputs.map((input) => [input.name, input.kind.case])).toEqual([
      ["user.account.balance", "feature"],
      ["now", "now"],
    ]);
    expect(found.outputs).toEqual(["user.id", "user.name"]);
    expect(sql.parameters.map(({ path, offset, length }) => [path, body.slice(offset, offset + length)])).toEqual([
      ["user.account.balance", "${user.account.balance}"],
      ["", "${ now }"],
      ["user.account.balance", "${user.account.balance}"],
    ]);
  });

  test("only `now` still looks up by the key", () => {
    const { resolver: found } = one(`${header}select id, name from t where at < \${now}`);
    expect(found.inputs.map((input) => input.name)).toEqual(["user.id", "now"]);
  });

  test("column names match in any case, and with the namespace in quotes", () => {
    const { sql } = one(`${header}select ID, "user.name", Email from t`);
    expect(sql.columns.map(({ column, feature }) => [column, feature])).toEqual([
      ["ID", "user.id"],
      ["user.name", "user.name"],
      ["Email", "user.email"],
    ]);
  });

  test("CRLF and a byte order mark change nothing but the hash", () => {
    const text = `${header}select id, name from t where a = \${user.email}`;
    const plain = one(text).sql;
    const dos = one(`\ufeff${text.replaceAll("\n", "\r\n")}`).sql;
    expect(dos.body).toBe(plain.body);
    expect(dos.parameters.map(({ path, offset }) => [path, offset])).toEqual(plain.parameters.map(({ path, offset }) => [path, offset]));
    expect(dos.bodyLine).toBe(plain.bodyLine);
  });

  test("the hash is the file's", () => {
    const text = `${header}select id, name from t`;
    expect(one(text).resolver.sourceSha256).toBe(new Bun.CryptoHasher("sha256").update(text).digest("hex"));
  });

  test("a graph that was read in part lets unknown classes and placeholders pass", () => {
    const graph = graphOf(classes, { sources, diagnostics: [{ code: 102 }] });
    expect(lint("-- resolves: Elsewhere\n-- source: lite\nselect id from t", "q.svc.sql", graph).found).toEqual([]);
    expect(lint(`${header}select id from t where x = \${elsewhere.id}`, "q.svc.sql", graph).found).toEqual([]);
  });
});

describe("completeStar", () => {
  const star = () => {
    const { resolvers } = linkSqlFiles(
      [{ path: "s.svc.sql", text: `${header}-- fields: {uid: id}\nselect * from t` }],
      graphOf(classes, { sources }),
    );
    const [found] = resolvers;
    const set = graphOf(classes).featureSets[0];
    if (!found || !set) throw new Error("no resolver");
    return { found, set };
  };

  test("takes the columns that are features", () => {
    const { found, set } = star();
    expect(completeStar(found, ["uid", "NAME", "other", "account"], set)).toEqual([]);
    expect(found.outputs).toEqual(["user.name"]);
    expect(found.body.case === "sql" && found.body.value.columns.map(({ column, feature }) => [column, feature])).toEqual([
      ["uid", "user.id"],
      ["NAME", "user.name"],
    ]);
  });

  test("158: says which columns are missing", () => {
    const { found, set } = star();
    expect(shown(completeStar(found, ["name", "email"], set))).toEqual([
      {
        rule: "E158",
        at: "s.svc.sql:3:13-3:16",
        message: "the database's answer has no column 'uid'; it has 'name' and 'email'",
        label: "missing column",
      },
    ]);
  });
});
