/**
 * Every place of a name is found, and nothing else; with another name the project means the same.
 */

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import fc from "fast-check";
import { RenameRefused } from "../../../src/project/editor/rename.ts";
import type { Occurrence } from "../../../src/project/editor/symbol.ts";
import { patience, seeded } from "../../harness/seed.ts";
import { type Files, type NamedProject, readNames, renamed, unmark } from "./places.ts";

const HEAD = `from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import svc.functions as F
from svc import NamedQuery, SQLiteSource, offline, online
from svc.features import DataFrame, Features, FeatureTime, Primary, _, feature, features, has_many, has_one
from svc.streams import Windowed, windowed

main = SQLiteSource(name="main", path="app.db")
`;

interface Case {
  readonly newName: string;
  readonly files: Files;
}

const CASES: Readonly<Record<string, Case>> = {
  "a feature, in whatever form Python names it": {
    newName: "total",
    files: {
      "models.py": `${HEAD}
@features
class Account:
    id: int
    # The amount of money: Payment.amount
    amount: float
    payments: DataFrame[Payment] = has_many(lambda: Payment.account_id == Account.id)
    spent: float = _.payments[_.«amount» > 0, _.«amount»].sum() + _.amount
    highest: float = _.payments.«amount».max()


@features
class Payment:
    id: int
    account_id: Account.id
    account: Account
    «amount»: float
    amount_usd: float = _.«amount» * 2 + _.account.amount
    first: "Payment.«amount»"
    label: Literal["amount"]
`,
      "resolvers.py": `import models as m
from models import Account, Payment as P
from svc import online, NamedQuery
from svc.features import DataFrame, Features


@online
def usd(amount: P.«amount») -> m.Payment.amount_usd:
    """amount of Payment.amount"""
    return amount * 2


@online
def both(rows: Account.payments[P.«amount», P.id], frame: "DataFrame[P]") -> Features[Account.spent, Account.highest]:
    amount = sum(rows["«amount»"])
    for P in [amount]:
        print(P.amount)
    return Account(spent=rows.column("payment.«amount»"), highest=frame["«amount»"])


@online
def one(id: P.id) -> Features[P.account_id]:
    from models import Payment

    kept = {Payment.«amount»: 3, "payment.«amount»": 4, "amount": 5, "payment.amounts": 6}
    return m.Payment(id=id, «amount»=kept[Payment.«amount»], amount_usd=[P.amount for P in [1]])


NamedQuery(name="amount", input=[P.id], output=["payment.«amount»", P.«amount», "payment.account.amount"], tags=["amount"])
`,
      "tests/test_resolvers.py": "from models import *\n\nassert Payment(«amount»=1).amount == 1, Payment.«amount»\n",
      "payment.svc.sql": `-- amount of payments
-- resolves: Payment
-- source: main
select id, p.«amount→amount as total» -- amount
from payments p where amount > 0 and account_id = \${payment.account.amount} order by amount
`,
    },
  },
  "a column with a name of its own": {
    newName: "betrag",
    files: {
      "models.py": `${HEAD}
@features
class User:
    id: int
    «amount»: int
    other: int
`,
      "a.svc.sql": `-- resolves: user
-- source: main
select u.x as other, sum(x) as "«amount»" from t where id = \${user.id} and y > \${User.«amount»} order by «amount» desc, other
`,
      "b.svc.sql": `-- resolves: User
-- source: main
-- fields: { amt: «amount», oth: user.other }
select id, amt, oth from t
`,
      "c.svc.sql": "-- resolves: User\n-- source: main\nselect id, t.amount AS «Amount» from t where amount > 3\n",
      "d.svc.sql": "-- resolves: User\n-- source: main\nselect id, cast(«amount→amount» as int)«→ as betrag» from t\n",
    },
  },
  "a class, its namespace and what an import calls it": {
    newName: "Customer",
    files: {
      "pkg/__init__.py": 'from .models import «User»\n\n__all__ = ["«User»"]\n',
      "pkg/models.py": `${HEAD}
@features
class «User»:
    id: int
    name: Annotated[str, "User"]
    friends: "DataFrame[«User»]"
    best: "«User» | None" = has_one(lambda: «User».id == «User».id)
`,
      "resolvers.py": `from pkg import «User» as «Person→Person»
import pkg.models
from svc import NamedQuery, online


@online
def name(id: «Person→Person».id, other: "pkg.models.«User».id") -> «Person→Person».name:
    User = 3
    match id:
        case pkg.models.«User»(name="x"):
            return str(User)
    return "User"


NamedQuery(name="user", output=["«user→customer»", "«user→customer».name"], tags=["user"])
`,
      "user.svc.sql":
        "-- User\n-- resolves: «User»\n-- source: main\nselect id, name from users where id = ${«user→customer».id} or ${«User».id}\n",
      "more.svc.sql": '-- resolves: "«user→customer»"\n-- source: main\nselect id, name as "«user→customer».name" from users\n',
    },
  },
  "a class whose namespace is set apart": {
    newName: "Customer",
    files: {
      "models.py": `${HEAD}
@features(name="«user→user»")
class «Person»:
    id: int
    name: str
`,
      "a.svc.sql": "-- resolves: «Person»\n-- source: main\nselect id, name from users where id = ${«user→user».id}\n",
    },
  },
  "a feature whose name in queries is set apart": {
    newName: "total",
    files: {
      "models.py": `${HEAD}
@features
class User:
    id: int
    «amount»: int = feature(name="«sum→sum»")
    double: int = _.«amount» * 2


NamedQuery(name="q", output=["user.«sum→sum»", User.«amount»])
`,
      "a.svc.sql": "-- resolves: User\n-- source: main\nselect id, «SUM→SUM» from t where x = ${user.«sum→sum»}\n",
    },
  },
  "a windowed feature": {
    newName: "misses",
    files: {
      "models.py": `${HEAD}
@features
class User:
    id: int
    «fails»: Windowed[int] = windowed("10m", "1d", default=0)
    ratio: float = _.«fails»["10m"] / _.«fails»["1d"]


@online
def ratio(fails: User.«fails»["10m"], day: User.«fails»__86400__) -> User.ratio:
    return User(«fails»={"10m": 1}, «fails»__600__=2)


NamedQuery(name="q", output=["user.«fails»[10m]", "user.«fails»__600__"])
`,
      "a.svc.sql":
        "-- resolves: User\n-- source: main\nselect id, «fails→fails»__600__«→ as misses__600__» from t where fails = ${user.«fails»__86400__}\n",
    },
  },
  "a resolver": {
    newName: "label",
    files: {
      "models.py": `${HEAD}
@features
class User:
    id: int
    name: str


@online
def «name»(id: User.id) -> User.name:
    return str(id)
`,
      "more.py": 'from models import «name», User\n\nprint(«name»(1), User(name="x"), name_of)\n',
    },
  },
};

/** `path:from-to` of the places of what stands at one of them. */
function placesOf(project: NamedProject, at: Occurrence): string[] {
  return project.occurrences.of(at.symbol).map(({ path, from, to }) => `${path}:${from}-${to}`);
}

describe("every place is found, and nothing else, and renamed", () => {
  for (const [title, { files: marked, newName }] of Object.entries(CASES))
    test(title, () => {
      const { after, files, places } = unmark(marked, newName);
      const project = readNames(files);
      expect(project.read.diagnostics.map(({ message }) => message)).toEqual([]);
      const at = [...project.occurrences.all()].find(
        ({ path, from, to, nameKind, isDefinition }) => isDefinition && nameKind === "python" && places.includes(`${path}:${from}-${to}`),
      );
      if (!at) throw new Error("no place is the definition");
      expect(placesOf(project, at).sort()).toEqual([...places].sort());
      expect(renamed(project, at.path, at.from, newName)).toEqual(after);
    });

  test("from every place of a name, with the same outcome", () => {
    const { after, files, places } = unmark(CASES["a column with a name of its own"]?.files ?? {}, "betrag");
    const project = readNames(files);
    for (const place of places) {
      const [path = "", from = "", to = ""] = place.split(/[:-]/);
      for (const offset of [from, to]) expect(renamed(project, path, Number(offset), "betrag")).toEqual(after);
    }
  });
});

describe("the name in queries alone", () => {
  const files = (name: string, column: string): Files => ({
    "models.py": `${HEAD}
@features
class User:
    id: int
    amount: int = feature(name="${name}")


@online
def amount(id: User.id) -> User.amount:
    return 1
`,
    "user.svc.sql": `-- resolves: User\n-- source: main\nselect id, ${column} from t where id = \${user.id}\n`,
  });

  test("from `name=`, and from SQL", () => {
    const project = readNames(files("other", "other"));
    const sql = project.files["user.svc.sql"] as string;
    for (const [path, offset] of [
      ["user.svc.sql", sql.indexOf("other")],
      ["models.py", (project.files["models.py"] as string).indexOf('"other"') + 1],
    ] as const)
      expect(renamed(project, path, offset, "sum")).toEqual(files("sum", "other as sum"));
  });
});

describe("refused, in words", () => {
  const refusal = (files: Files, newName: string): string => {
    const [path = "", marked = ""] = Object.entries(files).find(([, text]) => text.includes("|>")) ?? [];
    const project = readNames({ ...files, [path]: marked.replace("|>", "") });
    try {
      renamed(project, path, marked.indexOf("|>"), newName);
      return "";
    } catch (error) {
      if (!(error instanceof RenameRefused)) throw error;
      return error.message;
    }
  };
  const models = (body: string): Files => ({ "models.py": `${HEAD}\n${body}` });
  const user = (fields: string, above = "@features") => `${above}\nclass User:\n    id: int\n    name: str\n${fields}`;
  const sql = (body: string): Files => ({
    ...models(user("    total: int\n")),
    "a.svc.sql": `-- resolves: User\n-- source: main\n${body}\n`,
  });

  test.each([
    [
      "a name that the class has",
      models(user("    am|>ount: int\n")),
      "name",
      "User has a feature 'name' already: it is defined in models.py",
    ],
    ["a method's name", models(user("    am|>ount: int\n    def run(self): pass\n")), "run", "User has a 'run' already"],
    ["no name", models(user("    am|>ount: int\n")), "a b", "'a b' is no name in Python"],
    ["a keyword", models(user("    am|>ount: int\n")), "class", "'class' is no name in Python"],
    ["an empty name", models(user("    am|>ount: int\n")), "", "'' is no name in Python"],
    ["a private name", models(user("    am|>ount: int\n")), "_amount", "'_amount' is no name of a feature"],
    ["the form of a window", models(user("    am|>ount: int\n")), "a__60__", "'a__60__' is no name of a feature"],
    ["a bad name for queries", models(user('    amount: int = feature(name="o|>ther")\n')), "höhe", "'höhe' is no name for queries"],
    [
      "the key",
      models(user("    amount: int\n").replace("id:", "i|>d:")),
      "key",
      "with that name models.py:14 would be wrong: User has no primary key",
    ],
    ["the feature time by its name", models(user("    t|>s: datetime\n")), "at", "a datetime called 'ts' is the feature time of User"],
    [
      "a datetime that would be the feature time",
      models(user("    a|>t: datetime\n")),
      "ts",
      "a datetime called 'ts' is the feature time of User",
    ],
    ["another class's name", models(`${user("")}\n\n@features\nclass Us|>er2:\n    id: int\n`), "User", "there is a class User already"],
    [
      "another class's namespace",
      models(`${user("")}\n\n@features\nclass O|>ther:\n    id: int\n`),
      "UserFeatures",
      "there is a namespace 'user' already",
    ],
    [
      "a name that the file has",
      models(user("").replace("class Us|>er", "").replace("class User", "class Us|>er")),
      "online",
      "models.py has a name 'online' already",
    ],
    [
      "a name that another file has",
      { ...models(user("").replace("class User", "class Us|>er")), "b.py": "from models import User\n\nCustomer = User\n" },
      "Customer",
      "b.py has a name 'Customer' already",
    ],
    [
      "a name that means something else in a function",
      {
        ...models(user("").replace("class User", "class Us|>er")),
        "b.py": "import models\n\n\ndef f(Customer):\n    from models import User\n\n    return [User for Customer in Customer]\n",
      },
      "Customer",
      "'Customer' means something else in a place where User is named",
    ],
    [
      "an alias",
      { ...models(user("")), "b.py": "from models import User as Per|>son\n" },
      "Customer",
      "'Person' is another name that an import gives User",
    ],
    [
      "a namespace that follows from the class",
      sql("select id from t where id = ${us|>er.id}"),
      "customer",
      "the namespace 'user' follows from the name of User",
    ],
    [
      "a name that is computed",
      models(user("    am|>ount: int = feature(name=NAME)\n")),
      "total",
      "only running the code tells what amount is called",
    ],
    [
      "a class under a condition",
      models(`if main:\n    @features\n    class Us|>er:\n        id: int\n`),
      "Customer",
      "User is bound more than once in models.py, or under a condition",
    ],
    [
      "a file that cannot be read and has the name",
      { ...models(user("    am|>ount: int\n")), "b.py": "def f(amount: User.amount\n" },
      "total",
      "b.py names 'amount' and cannot be read",
    ],
    [
      "a column that may be the database's",
      sql("select id, sum(x) as to|>tal from t group by total"),
      "amount",
      "'total' in a.svc.sql:3 may be this column or one of the database",
    ],
    ["a word of SQL", sql("select id, to|>tal from t"), "Group", "'Group' is a word of SQL, and a.svc.sql has a column of that feature"],
  ] as [string, Files, string, string][])("%s", (_, files, newName, message) => {
    expect(refusal(files, newName)).toStartWith(message);
  });

  test("but not for a broken file that has nothing to do with it", () => {
    expect(refusal({ ...models(user("    am|>ount: int\n")), "b.py": "def f(amounts\n" }, "total")).toBe("");
  });
});

describe("whatever is renamed, the project means the same", () => {
  const flights = join(import.meta.dir, "../../fixtures/flights");
  const projects = [
    Object.fromEntries(
      [...new Glob("**/*.{py,sql}").scanSync(flights)].sort().map((path) => [path, readFileSync(join(flights, path), "utf8")]),
    ),
    ...Object.values(CASES).map(({ files }) => unmark(files, "").files),
  ].map(readNames);
  const names = fc.constantFrom(
    "zeta",
    "Zeta",
    "ZetaFeatures",
    "z__x",
    "名前",
    "id",
    "name",
    "User",
    "order",
    "select",
    "F",
    "svc",
    "total",
    "sum",
  );

  test(
    "lint says nothing new, and the graph and the places are the same but for the name",
    () => {
      let done = 0;
      fc.assert(
        fc.property(fc.nat(projects.length - 1), fc.nat(), names, (number, seed, newName) => {
          const project = projects[number] as NamedProject;
          const all = [...project.occurrences.all()];
          const at = all[seed % all.length] as Occurrence;
          let files: Files;
          try {
            files = renamed(project, at.path, at.from, newName);
          } catch (error) {
            if (error instanceof RenameRefused) return;
            throw error;
          }
          done++;
          const after = readNames(files);
          expect(after.read.diagnostics.length).toBe(project.read.diagnostics.length);
          expect(shapeOf(after)).toEqual(shapeOf(project));
          const same = after.occurrences.of(
            (after.occurrences.in(at.path)[project.occurrences.in(at.path).indexOf(at)] as Occurrence).symbol,
          );
          expect(same.length).toBe(project.occurrences.of(at.symbol).length);
          for (const [path, text] of Object.entries(files))
            expect(text.split("\n").length).toBe((project.files[path] as string).split("\n").length);
        }),
        seeded(75),
      );
      expect(done).toBeGreaterThan(50);
    },
    patience(300_000),
  );
});

/** A project's graph and places without the names. */
function shapeOf({ occurrences, read: { graph } }: NamedProject): unknown {
  const features = graph.featureSets.flatMap((set) => set.features);
  const order = new Map(features.map(({ fqn }, at) => [fqn, at]));
  const resolvers = graph.resolvers.map(({ inputs, outputs }) => ({
    inputs: inputs.map(({ kind }) => (kind.case === "feature" ? kind.value.path.split(".").length : 0)),
    outputs: outputs.map((fqn) => order.get(fqn)),
  }));
  return {
    features: features.map(({ kind }) => kind.case),
    resolvers,
    places: occurrences.files.map(({ path }) => occurrences.in(path).map(({ symbol: { kind } }) => kind)),
  };
}
