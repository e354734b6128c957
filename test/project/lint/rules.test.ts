import { describe, expect, test } from "bun:test";
import { type LintInput, lintStatically } from "../../../src/project/lint/lint.ts";
import { marked, type Shown, shown, spanOf } from "../../harness/marked.ts";

const FEATURES = `from svc import Now, NamedQuery, SQLiteSource, online, offline
from svc.features import DataFrame, Features, FeatureTime, Primary, feature, features, has_one
`;

/** Lints marked sources; the first file is called features.py unless said otherwise. */
function lint(sources: string | Record<string, string>, more: Omit<LintInput, "files"> = {}) {
  const fixtures = Object.entries(typeof sources === "string" ? { "features.py": sources } : sources).map(([path, text]) => ({
    path,
    ...marked(text),
  }));
  const diagnostics = lintStatically({ files: fixtures, ...more });
  const places = fixtures.flatMap((fixture) => fixture.marks.map((_, index) => spanOf(fixture.path, fixture, index)));
  return { found: shown(diagnostics), places, diagnostics };
}

/** The findings, each at the mark of its number. */
function expectFindings(
  sources: string | Record<string, string>,
  findings: readonly Omit<Shown, "at">[],
  more: Omit<LintInput, "files"> = {},
): void {
  const { found, places } = lint(sources, more);
  expect(found).toEqual(findings.map((finding, index) => ({ at: places[index] as string, ...finding })));
}

const USER = `${FEATURES}
@features
class User:
    id: int
    name: str
    email: str
`;

describe("101", () => {
  const cases: [source: string, message: string][] = [
    ["x = «(»1,\ny = 2\n", "'(' was never closed"],
    ["x = 1«)»\n", "unmatched ')'"],
    ["x = [1«)»\n", "closing parenthesis ')' does not match opening parenthesis '['"],
    ["x = «'abc»\n", "unterminated string literal"],
    ['x = «"""»abc\n', "unterminated triple-quoted string literal"],
    ["def f(x)«\n»    return x\n", "expected ':'"],
    ["def f(x):\n«r»eturn x\n".replace("«r»eturn", "«return»"), "expected an indented block after function definition"],
    ["x = 1\n  «y» = 2\n", "unexpected indent"],
    ["if x:\n    y\n«  »z\n", "unindent does not match any outer indentation level"],
    ["x = 1 «2»\n", "invalid syntax"],
    ["class User:\n    id «int»\n", "invalid syntax"],
    ["x = «=» 1\n", "invalid syntax"],
    ["x «=»\n", "invalid syntax"],
    ["x = «?»\n", "invalid syntax"],
    ["x = «“»a”\n", "invalid character '“'"],
    ["x = \\ «1»\n".replace("\\ «1»", "\\« »1"), "unexpected character after line continuation character"],
  ];
  for (const [source, message] of cases)
    test(message, () => {
      const { found, places } = lint(source);
      expect(found).toEqual([
        { rule: "E101", at: places[0] as string, message: `${message} (Python 3.10 to 3.13)`, label: "syntax error" },
      ]);
    });

  test("names the runtime", () => {
    expect(lint("x = )\n", { runtime: "python312" }).found[0]?.message).toBe("unmatched ')' (Python 3.12)");
  });
});

describe("104", () => {
  const cases: [source: string, what: string, since: number][] = [
    ["try:\n    x\n«except*» ValueError:\n    y\n", "`except*`", 11],
    ["«type X» = int\n", "the `type` statement", 12],
    ["def «f[»T](x: T) -> T: ...\n", "type parameters", 12],
    ["class «C[»T]: ...\n", "type parameters", 12],
    ["class C[T «=» int]: ...\n", "a default of a type parameter", 13],
    ["x = «f'{a['b']}'»\n", "a formatted string that holds its own quotes", 12],
  ];
  for (const [source, what, since] of cases)
    test(what, () => {
      const runtime = `python3${since - 1}`;
      expectFindings(
        source,
        [{ rule: "E104", message: `${what} needs Python 3.${since}, but the runtime is ${runtime}`, label: `Python 3.${since}` }],
        { runtime },
      );
      expect(lint(source, { runtime: `python3${since}` }).found).toEqual([]);
      expect(lint(source).found).toEqual([]);
    });
});

describe("classes", () => {
  test("110: no primary key", () =>
    expectFindings(`${FEATURES}\n@features\nclass «User»:\n    name: str\n    age: int = 3\n`, [
      {
        rule: "E110",
        message: "User has no primary key: name it 'id', or annotate it 'Primary[...]'; its features are: name, age",
        label: "no primary key",
      },
    ]));

  test("111: one namespace in two files", () => {
    const { found, places, diagnostics } = lint({
      "a.py": `${FEATURES}@features\nclass «User»:\n    id: int\n`,
      "b.py": `${FEATURES}@features(name=«"user"»)\nclass Person:\n    id: int\n`,
    });
    const message = "the namespace 'user' is defined in two files: rename one class, or give it 'name='";
    expect(found).toEqual([{ rule: "E111", at: places[1] as string, message, label: "defined twice" }]);
    expect(diagnostics[0]?.related.map(({ span, message: text }) => [span?.file, span?.line, text])).toEqual([
      ["a.py", 4, "'user' is first defined here"],
    ]);
  });

  test("112 warning: a class defined again", () =>
    expectFindings(`${FEATURES}@features\nclass User:\n    id: int\n\n@features\nclass «User»:\n    id: str\n`, [
      { rule: "W112", message: "the feature class 'User' is defined again in this file: the last one counts", label: "defined again" },
    ]));

  test("112 warning: a resolver defined again", () => {
    const resolver = (mark: string) => `\n@online\ndef ${mark}(x: User.id) -> User.name: ...\n`;
    expectFindings(USER + resolver("f") + resolver("«f»"), [
      { rule: "W112", message: "the resolver 'f' is defined again in this file: the last one counts", label: "defined again" },
    ]);
  });

  test("113: two primary keys", () =>
    expectFindings(
      `${FEATURES}@features\nclass User:\n    «b»: int = feature(primary=True)\n    a: int\n`.replace("«b»", "k: Primary[str]\n    «b»"),
      [
        {
          rule: "E113",
          message: "User has two primary keys, 'k' and 'b': a row is identified by one; unmark the other",
          label: "second primary key",
        },
      ],
    ));

  test("117: two feature times", () =>
    expectFindings(`${FEATURES}@features\nclass User:\n    id: int\n    a: FeatureTime\n    «b»: FeatureTime\n`, [
      {
        rule: "E117",
        message: "User has two feature times, 'a' and 'b': a row is observed at one; write datetime for the other",
        label: "second feature time",
      },
    ]));

  test("119 warning: annotated twice", () =>
    expectFindings(`${FEATURES}@features\nclass User:\n    id: int\n    age: int\n    «age»: float\n`, [
      { rule: "W119", message: "'age' is annotated twice in User: the last one counts", label: "annotated again" },
    ]));

  test("124: a forward reference to nothing, with the closest", () =>
    expectFindings(`${USER}\n@features\nclass Order:\n    id: int\n    user: "«Usr» | None"\n    user_id: '«Usre».id'\n`, [
      { rule: "E124", message: "'Usr' in this annotation is never defined; did you mean 'User'?", label: "never defined" },
      { rule: "E124", message: "'Usre' in this annotation is never defined; did you mean 'User'?", label: "never defined" },
    ]));

  test("125: DataFrame with a quoted inside", () =>
    expectFindings(`${FEATURES}@features\nclass User:\n    id: int\n    orders: DataFrame[«"Order"»]\n`, [
      {
        rule: "E125",
        message: 'quote the whole annotation, not a part of it: write "DataFrame[Order]"',
        label: "quoted inside of the brackets",
      },
    ]));

  test("142: a foreign key to a feature that does not exist", () =>
    expectFindings(`${USER}\n@features\nclass Order:\n    id: int\n    user_id: User.«idd»\n    name: "User.«nmae» | None"\n`, [
      { rule: "E142", message: "User has no feature 'idd'; did you mean 'id'?", label: "no such feature" },
      { rule: "E142", message: "User has no feature 'nmae'; did you mean 'name'?", label: "no such feature" },
    ]));

  test("146: staleness, tags, primary", () =>
    expectFindings(
      `${FEATURES}@features(max_staleness=«"1 parsec"», tags=«[1]»)\nclass User:\n    id: int = feature(primary=«"yes"», max_staleness=«5»)\n`,
      [
        {
          rule: "E146",
          message: 'max_staleness of User is "1 parsec": write a duration such as 90s, 5m, 1h30m, 7d or 2w, or infinity',
          label: "bad value",
        },
        { rule: "E146", message: "tags of User is [1]: write a list of texts such as ['team:risk', 'pii']", label: "bad value" },
        { rule: "E146", message: 'primary of id is "yes": write True or False', label: "bad value" },
        {
          rule: "E146",
          message: "max_staleness of id is 5: write a duration such as 90s, 5m, 1h30m, 7d or 2w, or infinity",
          label: "bad value",
        },
      ],
    ));
});

describe("resolvers", () => {
  const one = (text: string, findings: readonly Omit<Shown, "at">[]) => expectFindings(`${USER}\n@online\n${text}\n`, findings);

  test("140: no annotation, another type, a star, a class, a relation", () => {
    one("def f(«x») -> User.name: ...", [
      { rule: "E140", message: "parameter 'x' names no feature: annotate it, such as 'x: User.x'", label: "no feature annotation" },
    ]);
    one("def f(x: «int | None») -> User.name: ...", [
      {
        rule: "E140",
        message: "parameter 'x' has the type 'int | None', which names no feature: write 'x: User.x' instead",
        label: "no feature",
      },
    ]);
    one("def f(*«xs», **«more») -> User.name: ...", [
      { rule: "E140", message: "'*xs' names no features: write one parameter per feature, such as 'name: User.name'", label: "no feature" },
      {
        rule: "E140",
        message: "'**more' names no features: write one parameter per feature, such as 'name: User.name'",
        label: "no feature",
      },
    ]);
    one("def f(x: «User») -> User.name: ...", [
      { rule: "E140", message: "parameter 'x' is the class User: take its features one by one, such as 'x: User.id'", label: "no feature" },
    ]);
    expectFindings(
      `${USER}\n@features\nclass Order:\n    id: int\n    total: float\n    user: User\n\n@online\ndef f(x: «Order.user») -> Order.total: ...\n`,
      [{ rule: "E140", message: "parameter 'x' is a relation: take a feature of it, such as 'Order.user.id'", label: "a relation" }],
    );
  });

  test("141: two roots, with the way through the relation", () =>
    expectFindings(
      `${USER}\n@features\nclass Order:\n    id: int\n    total: float\n    risk: float\n    user: User\n\n@online\ndef f(x: Order.total, y: «User.name») -> Order.risk: ...\n`,
      [
        {
          rule: "E141",
          message: "the parameters start from Order and from User: a resolver starts from one class; write 'Order.user.name'",
          label: "not from Order",
        },
      ],
    ));

  test("142: in a parameter, behind a relation, in the result, in a named query", () =>
    expectFindings(
      {
        "models.py": `${USER}\n@features\nclass Order:\n    id: int\n    total: float\n    user: User\n`,
        "work/resolvers.py":
          "import svc\nfrom models import Order, User as U\nfrom svc.features import Features\n\n@svc.online\ndef f(a: U.«nam», b: 'Order.user.«emial» | None') -> Features[U.id, U.«age»]: ...\n\nsvc.NamedQuery(name='q', output=[Order.«totl»])\n",
      },
      [
        { rule: "E142", message: "User has no feature 'nam'; did you mean 'name'?", label: "no such feature" },
        { rule: "E142", message: "User has no feature 'emial'; did you mean 'email'?", label: "no such feature" },
        { rule: "E142", message: "User has no feature 'age'", label: "no such feature" },
        { rule: "E142", message: "Order has no feature 'totl'; did you mean 'total'?", label: "no such feature" },
      ],
    ));

  test("143: no result, another type, a class, a relation", () => {
    one("def «f»(x: User.id): ...", [
      {
        rule: "E143",
        message: "'f' does not say what it produces: write '-> User.name' or '-> Features[User.name, User.email]'",
        label: "no return annotation",
      },
    ]);
    one("def f(x: User.id) -> «dict[str, int]»: ...", [
      {
        rule: "E143",
        message: "'dict[str, int]' names no feature: write '-> User.name' or '-> Features[User.name, User.email]'",
        label: "not a feature",
      },
    ]);
    one("def f(x: User.id) -> «User»: ...", [
      { rule: "E143", message: "'User' is a class: write '-> Features[User]', or name its features", label: "not a feature" },
    ]);
    const order = `${USER}\n@features\nclass Order:\n    id: int\n    user_id: User.id\n    user: User\n\n@online\n`;
    expectFindings(`${order}def f(x: Order.id) -> «Order.user»: ...\n`, [
      {
        rule: "E143",
        message: "'Order.user' is a relation, found by its join: write '-> Order.user_id', which the join compares",
        label: "a relation",
      },
    ]);
    expectFindings(`${order}def f(x: Order.user_id) -> Order.user: ...\n`, []);
    expectFindings(`${order}def f(x: Order.id) -> «str»: ...\n`, [
      { rule: "E143", message: "'str' names no feature: write '-> Order.user_id'", label: "not a feature" },
    ]);
    expectFindings(`${order}def f(x: Order.id) -> «User»: ...\n`, [
      { rule: "E143", message: "'User' is a class: write '-> Order.user_id'", label: "not a feature" },
    ]);
  });

  test("144: an output that is an input", () =>
    expectFindings(`${USER}\n@online\ndef f(a: User.id, b: User.name) -> Features[User.email, «User.name»]: ...\n`, [
      {
        rule: "E144",
        message: "'user.name' is an output and the input 'b': a resolver cannot produce what it needs",
        label: "also an input",
      },
    ]));

  test("146: timeout, cron, environment", () =>
    expectFindings(
      `${USER}\n@online(timeout=«"0s"», cron=«"* * *"», environment=«["prod", "a b"]»)\ndef f(a: User.id) -> User.name: ...\n\n@offline(timeout=«5»)\ndef g(a: User.id) -> User.email: ...\n`,
      [
        {
          rule: "E146",
          message: 'timeout of f is "0s": a resolver needs a time limit above zero that ends, such as 200ms',
          label: "bad value",
        },
        {
          rule: "E146",
          message:
            'cron of f is "* * *": it has 3 fields; write a cron expression of five fields such as "30 2 * * *", or a duration such as 15m or 1d',
          label: "bad value",
        },
        {
          rule: "E146",
          message:
            "environment of f is [\"prod\", \"a b\"]: write an environment's name, or a list of them: letters, digits, '.', '_' and '-'",
          label: "bad value",
        },
        { rule: "E146", message: "timeout of g is 5: write a duration such as 200ms, 5s or 1m30s", label: "bad value" },
      ],
    ));

  test("148: one name for two resolvers", () =>
    expectFindings(`${USER}\n@online\ndef f(a: User.id) -> User.name: ...\n\n@online(name=«"f"»)\ndef g(a: User.id) -> User.email: ...\n`, [
      {
        rule: "E148",
        message: "two resolvers have the name 'features.f': rename one function, or give it another 'name='",
        label: "same name",
      },
    ]));
});

describe("the project", () => {
  test("153 and the other SQL rules, from the text of the classes alone", () =>
    expectFindings(
      {
        "features.py": USER,
        "q.svc.sql": "-- resolves: User\n-- source: pg\nselect id, full_name as «nmae» from t where x = «${user.emial}»",
      },
      [
        { rule: "E153", message: "output feature 'nmae' does not exist in class User; the closest is 'name'", label: "no such feature" },
        {
          rule: "E155",
          message: "${user.emial} is neither a feature nor now: 'emial' is no feature of class User; did you mean 'email'?",
          label: "no feature",
        },
      ],
    ));

  test("192: metadata that the project asks for", () => {
    const source = `${FEATURES}@features(owner="a@example.com")\nclass User:\n    «id»: int\n    # Full name\n    # :tags: pii\n    name: str\n    email: str = feature(tags=["pii"], description="mail")\n\n@online\ndef «f»(a: User.id) -> User.name: ...\n`;
    expectFindings(
      source,
      [
        {
          rule: "W192",
          message: "'user.id' has no tags, which this project asks of every feature: write '# :tags: a, b' above it, or tags= at the class",
          label: "no tags",
        },
        {
          rule: "E192",
          message: "'features.f' has no owner, which this project asks of every resolver: write owner= in its decorator",
          label: "needs an owner",
        },
      ],
      {
        policy: {
          feature: [
            { name: "owner", missing: "error" },
            { name: "tags", missing: "warn" },
          ],
          resolver: [{ name: "owner", missing: "error" }],
        },
      },
    );
  });

  test("194: the driver of a source", () => {
    const source =
      "from svc.sources import RedshiftSource, PostgreSQLSource\n\nwarehouse = «RedshiftSource»(name='w')\npg = PostgreSQLSource(name='pg')\n";
    const message = (which: string) =>
      `RedshiftSource needs the driver redshift-connector, which ${which}: add 'svc[redshift]' or 'redshift-connector'`;
    expectFindings(source, [{ rule: "E194", message: message("no requirements file names"), label: "driver missing" }]);
    expectFindings(source, [{ rule: "E194", message: message("the requirements file does not name"), label: "driver missing" }], {
      requirements: "requests\n",
    });
    for (const requirements of ["svc[postgresql, redshift]>=1\n", "Redshift_Connector==3 # driver\n", "-r base.txt\n"])
      expect(lint(source, { requirements }).found).toEqual([]);
    expect(lint(source, { skipDrivers: true }).found).toEqual([]);
  });
});
