/**
 * Lint of relations, expressions and windows without Python: what it says, that the analyzer says
 * it too, and what it must not say.
 */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import { type LintInput, lintStatically } from "../../../src/project/lint/lint.ts";
import { marked, type Shown, shown, spanOf } from "../../harness/marked.ts";
import { EXPECTED_RELATION_FINDINGS } from "../../sdk/expected-relations.ts";

const SDK = `import svc.functions as F
from svc import NamedQuery, online
from svc.features import DataFrame, Features, Primary, _, feature, features, has_many, has_one
from svc.streams import Windowed, windowed
`;
const USER = `${SDK}
@features
class Txn:
    id: int
    user_id: "User.id"
    amount: float

@features
class User:
    id: int
    name: str
    tags: list[str]
    txns: DataFrame[Txn]
    fails: Windowed[int] = windowed("10m", "1d")
`;

function lint(text: string, more: Omit<LintInput, "files"> = {}) {
  const fixture = { path: "features.py", ...marked(text) };
  const found = shown(lintStatically({ files: [fixture], ...more }));
  return { found, places: fixture.marks.map((_, index) => spanOf(fixture.path, fixture, index)) };
}

/** The findings, each at the mark of its number. */
function expectFindings(text: string, findings: readonly Omit<Shown, "at">[]): void {
  const { found, places } = lint(text);
  expect(found).toEqual(findings.map((finding, index) => ({ at: places[index] as string, ...finding })));
}

describe("125: the whole annotation is quoted, in resolvers too", () => {
  const message = 'quote the whole annotation, not a part of it: write "DataFrame[User]"';
  test.each([`x: DataFrame[«"User"»]`, `x: DataFrame[«"User"»] | None`])("%s", (parameter) =>
    expectFindings(`${USER}\n@online\ndef f(${parameter}) -> User.name: ...\n`, [
      { rule: "E125", message, label: "quoted inside of the brackets" },
    ]),
  );
  test("and the return annotation", () =>
    expectFindings(`${USER}\n@online\ndef f() -> DataFrame[«"User"»]: ...\n`, [
      { rule: "E125", message, label: "quoted inside of the brackets" },
    ]));
});

describe("133", () => {
  const field = (value: string) => `${USER}    x: str = ${value}\n`;
  const unknown = (message: string, label: string) => [{ rule: "E133", message, label }];

  test("an unknown function, with the closest", () =>
    expectFindings(field("F.lower(F.«uppr»(_.name))"), unknown("there is no function 'uppr'; did you mean 'upper'?", "unknown function")));
  test("under other names of the module", () => {
    const message = "there is no function 'lowr'; did you mean 'lower', 'floor' or 'hour'?";
    expectFindings(`from svc import functions as G\n${field("G.«lowr»(_.name)")}`, unknown(message, "unknown function"));
    expectFindings(`import svc.functions\n${field("svc.functions.«lowr»(_.name)")}`, unknown(message, "unknown function"));
  });
  test("an unknown aggregation", () =>
    expectFindings(
      field("_.txns[_.amount > 3].amount.«summ»()"),
      unknown("there is no aggregation 'summ'; did you mean 'sum'?", "unknown aggregation"),
    ));
  test("functions with an underscore behind their name", () => {
    expect(lint(field("F.and_(_.a, F.not_(_.b))")).found).toEqual([]);
    expect(lint(field("F.«and»(_.a)").replace("«and»", "nd")).found.map((item) => item.rule)).toEqual(["E133"]);
  });
});

describe("134", () => {
  const decided = (word: string, cure: string) => [
    {
      rule: "E134",
      message: `'${word}' makes Python decide at once what is known only when a query runs: ${cure}`,
      label: "decided at once",
    },
  ];
  const AND = "write & and put each comparison in parentheses: (_.a > 1) & (_.b < 2)";
  const cases: [value: string, word: string, cure: string][] = [
    ["_.a > 1 «and» _.b < 2", "and", AND],
    ["feature(expression=(_.a > 1) «and» True)", "and", AND],
    ["(\n        F.lower(_.name)  # and\n        «or» _.name\n    )", "or", AND.replaceAll("&", "|")],
    ["_.a «or» F.lower(_.name) or _.c", "or", AND.replaceAll("&", "|")],
    ["«not» _.a", "not", "write ~ and put the comparison in parentheses: ~(_.a > 1)"],
    ["_.a «in» [1, 2]", "in", "write .isin([...])"],
    ["_.a «not in» (1, 2)", "not in", "write ~ and .isin([...])"],
    ['"x" «in» _.tags', "in", "write F.contains(_.tags, value)"],
    ["_.a «is» True", "is", "write == for a value, and F.is_null(...) for None"],
    ["_.a «is not» None", "is not", "write != for a value, and F.is_not_null(...) for None"],
    ["1 < _.a «<» 3", "<", "write two comparisons joined by &: (1 < _.a) & (_.a < 9)"],
    ["1 if «_.a > 1» else 2", "if", "write F.if_then_else(condition, value, other)"],
    ['windowed("1d", expression=_.txns[_.amount > 3].count() «and» 1)', "and", AND],
  ];
  test.each(cases)("%s", (value, word, cure) =>
    expectFindings(`${USER}    x: Windowed[int] = ${value}\n`.replace(/Windowed\[int\] = (?!windowed)/, "bool = "), decided(word, cure)),
  );

  test("where it can be captured, and where nothing is computed, it is silent", () => {
    const silent = [
      "_.txns[_.amount > 1 and _.amount < 3, not _.amount == 2, _.amount not in (1, 2), _.amount is not None].count()",
      "_.txns[(_.amount if DEBUG else _.id) > 1].count()",
      "DEBUG and _.a",
      "(_.a > 1) & (_.b < 2) | ~(_.c == 3)",
      "has_one(lambda: User.id == 1 and User.name == 2)",
      "1 if DEBUG is not None and not TEST else 2",
      "[_ for _ in range(3) if not _]",
    ];
    for (const value of silent) expect([value, lint(`${USER}    x: bool = ${value}\n`).found]).toEqual([value, []]);
  });

  test("in classes that are no feature classes, and in functions, _ is any name", () => {
    expect(
      lint(
        `${USER}\nclass Plain:\n    x = [_.a for _ in rows if not _.b and _.c]\n\ndef f(rows):\n    return [_ for _ in rows if _.x and not _.y]\n`,
      ).found,
    ).toEqual([]);
  });
});

describe("135", () => {
  test("an expression in a resolver", () =>
    expectFindings(`${USER}\n@online\ndef f(id: User.id) -> User.name:\n    return «_.name» + "x"\n`, [
      {
        rule: "E135",
        message: "_ is the row of a feature class and has no values in a resolver: take the feature as a parameter",
        label: "no value here",
      },
    ]));
  test("a function of svc.functions in a resolver", () =>
    expectFindings(`${USER}\n@online\ndef f(id: User.id) -> User.name:\n    return «F.to_string»(id)\n`, [
      {
        rule: "E135",
        message: "F.to_string makes an expression for the server and computes nothing in a resolver: write it in Python",
        label: "no value here",
      },
    ]));
  test("a resolver that calls something of its own _", () => {
    for (const body of ["for _ in range(3): print(_.real)", "_, x = id, 1\n    print(_.real)", "print([_.real for _ in [id]])"])
      expect([body, lint(`${USER}\n@online\ndef f(id: User.id) -> User.name:\n    ${body}\n    return ""\n`).found]).toEqual([body, []]);
  });
});

describe("142: windows and features through has-many relations", () => {
  const one = (text: string, message: string, label: string) =>
    expectFindings(`${USER}\n@online\ndef f(x: ${text}) -> User.name: ...\n`, [{ rule: "E142", message, label }]);
  test("a window that there is not", () => {
    one("User.fails[«'2d'»]", "User.fails has no window '2d'; its windows are: 10m, 1d", "no such window");
    one("User.«fails__60__»", "User has no feature 'fails__60__'; did you mean 'fails'?", "no such feature");
  });
  test("any spelling of one that there is", () => {
    for (const text of ['User.fails["600s"]', "User.fails['24h']", "User.fails__600__", "User.fails", "User.fails[WINDOW]"])
      expect([text, lint(`${USER}\n@online\ndef f(x: ${text}) -> User.name: ...\n`).found]).toEqual([text, []]);
  });
  test("a feature of the rows", () => {
    one("User.txns.«amuont»", "Txn has no feature 'amuont'; did you mean 'amount'?", "no such feature");
    one("User.txns.«amuont»[Txn.id]", "Txn has no feature 'amuont'; did you mean 'amount'?", "no such feature");
  });
  test("a window in a named query", () =>
    expectFindings(`${USER}\nNamedQuery(name="q", output=[User.fails[«"2d"»], User.fails["1d"], User.txns.amount])\n`, [
      { rule: "E142", message: "User.fails has no window '2d'; its windows are: 10m, 1d", label: "no such window" },
    ]));
  test("144 compares windows", () => {
    const resolver = (output: string) => `${USER}\n@online\ndef f(x: User.fails["600s"]) -> ${output}: ...\n`;
    expect(lint(resolver('User.fails["1d"]')).found).toEqual([]);
    expect(lint(resolver('User.fails["10m"]')).found.map((item) => item.rule)).toEqual(["E144"]);
  });
});

describe("180", () => {
  const WHAT = "a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'";
  const at = (text: string, message: string, label: string) =>
    expectFindings(`${SDK}\n@features\nclass User:\n    id: int\n    x: ${text}\n`, [{ rule: "E180", message, label }]);
  test("no windows", () => {
    at("Windowed[int] = «windowed(default=0)»", `'x' names no windows: write ${WHAT}`, "no windows");
    at("«Windowed[int]»", `'x' names no windows: write 'x: Windowed[int] = windowed("1d", "7d")'`, "no windows");
  });
  test("twice, in another spelling", () =>
    at('Windowed[int] = windowed("7d", «"1w"»)', '\'x\' has the window 7d twice, as "7d" and "1w": take one out', "the same window"));
  test.each(['"soon"', '"500ms"', '"infinity"', '"0s"', "600", "None"])("%s is none", (window) =>
    at(`Windowed[int] = windowed("1d", «${window}»)`, `${window} is no window of 'x': write ${WHAT}`, "no window"),
  );
  test("what is computed is left alone", () => {
    for (const call of ["windowed(*WINDOWS)", 'windowed(timedelta(days=1), "1d")', 'windowed(f"{n}d")', "helper()"])
      expect(lint(`${SDK}\n@features\nclass User:\n    id: int\n    x: Windowed[int] = ${call}\n`).found).toEqual([]);
  });
});

test("windows are columns of SQL files", () => {
  const sql = (column: string) => ({
    path: "q.svc.sql",
    text: `-- resolves: User\n-- source: pg\nselect id, ${column} from t\n`,
  });
  const found = (column: string) => shown(lintStatically({ files: [{ path: "features.py", text: USER }, sql(column)], skipDrivers: true }));
  expect(found("n as fails__600__")).toEqual([]);
  expect(found("n as fails__60__").map((item) => item.rule)).toEqual(["E153"]);
});

test("types that refer back to themselves come to an end", () => {
  const text = `${SDK}
@features
class User:
    id: int
    left: "Right.right"
    rows: "DataFrame[User.rows]"

@features
class Right:
    id: int
    right: "User.left"
    user: "User.rows.left"
`;
  expect(lint(text).found).toEqual([]);
});

const FIXTURES = join(import.meta.dir, "../../sdk/fixtures");

async function filesOf(root: string) {
  const paths = [...new Glob("**/*.{py,sql}").scanSync(root)].sort();
  return await Promise.all(paths.map(async (path) => ({ path, text: await Bun.file(join(root, path)).text() })));
}

test("a sound project has no findings", async () => {
  const files = await filesOf(join(FIXTURES, "market"));
  expect(files.length).toBeGreaterThan(3);
  expect(shown(lintStatically({ files, runtime: "python310" }))).toEqual([]);
});

test.each(Object.entries(EXPECTED_RELATION_FINDINGS))("of %s it says nothing that the analyzer does not say", async (fixture, expected) => {
  const analyzer = expected.map(([place]) => place.split(" ").slice(0, 2).join(" ").split(":").slice(0, 2).join(":"));
  for (const { rule, at } of shown(lintStatically({ files: await filesOf(join(FIXTURES, fixture)) })))
    expect(analyzer).toContain(`${rule} ${at.split(":").slice(0, 2).join(":")}`);
});
