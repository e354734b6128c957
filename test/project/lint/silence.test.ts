/** What lint must not say: an error that is none would stop a deployment that works. */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import fc from "fast-check";
import { formatDiagnostics, lspDiagnostic } from "../../../src/output/diagnostic.ts";
import { lintStatically } from "../../../src/project/lint/lint.ts";
import { checkPythonSyntax } from "../../../src/project/lint/python-syntax.ts";
import { marked, shown } from "../../harness/marked.ts";
import { lacks } from "../../harness/needs.ts";
import { runs, seed, seeded } from "../../harness/seed.ts";
import { DEFINITION_FIXTURES } from "./definition-fixtures.ts";
import { GRAPH_FIXTURES } from "./graph-fixtures.ts";

const SDK = "from svc import Now, online\nfrom svc.features import Features, FeatureTime, Primary, feature, features, has_one\n";
const python = ["python3", "python3.13", "python3.12", "python3.11", "python3.10"]
  .map((name) => Bun.which(name))
  .find((path) => path !== null && Bun.spawnSync([path, "-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).exitCode === 0);

function found(sources: Record<string, string>) {
  return shown(lintStatically({ files: Object.entries(sources).map(([path, text]) => ({ path, text })) }));
}

async function filesOf(root: string) {
  const paths = [...new Glob("**/*.{py,sql}").scanSync(root)].sort();
  return await Promise.all(paths.map(async (path) => ({ path, text: await Bun.file(join(root, path)).text() })));
}

test("the example project", async () => {
  const files = await filesOf(join(import.meta.dir, "../../fixtures/flights"));
  expect(files.length).toBeGreaterThan(5);
  expect(shown(lintStatically({ files, runtime: "python311" }))).toEqual([]);
});

describe("what only running the code tells", () => {
  const user = `${SDK}
@features
class User:
    id: int
    name: str
    email: str
`;
  const silent: Record<string, Record<string, string>> = {
    "keys behind aliases, helpers and base classes": {
      "a.py": `${SDK}
from base import Base, Key, key_feature
PK = Primary[int]
@features
class A:
    code: PK
@features
class B:
    code: int = key_feature()
@features
class C(Base):
    name: str
@features
class D:
    code: Key
@features
class E:
    options = {}
    code: int = feature(**options)
`,
    },
    "classes made in conditions, loops and functions": {
      "a.py": `${user}
import sys
if sys.version_info > (3, 11):
    @features
    class Order:
        number: Primary[int]
else:
    @features
    class Order:
        number: Primary[str]

def make(name):
    @features(name=name)
    class Made:
        id: int
    return Made

Other = make("other")

@online
def f(x: Other.whatever, y: "Order.nothing") -> Other.id: ...
`,
      "q.svc.sql": "-- resolves: Other\n-- source: pg\nselect id, whatever from t",
    },
    "wrapped resolvers": {
      "a.py": `${user}
from tools import with_context

@online
@with_context
def f(anything, *args, **kwargs): ...

@with_context
@online
def g(anything): ...
`,
    },
    "names from star imports, other packages, type checkers and other modules": {
      "a.py": `${SDK}
from __future__ import annotations
from typing import TYPE_CHECKING, Optional, Union
from elsewhere import *
if TYPE_CHECKING:
    from b import Account

@features
class User:
    id: int
    account_id: "Account.id | None"
    account: "Optional[Account]"
    thing: "Thing"
    other: "Elsewhere.id"
`,
      "b.py": `${SDK}
import datetime as dt
import numpy as np
from decimal import Decimal

@features
class Account:
    id: int
    at: dt.datetime
    amount: Decimal
    array: np.ndarray
    user: "User"
`,
    },
    "every form of an annotation": {
      "a.py": `${user}
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from typing import ClassVar, Optional

class Kind(Enum):
    A = "a"

@dataclass
class Address:
    street: str

@features
class Order:
    id: Primary[str]
    user_id: User.id
    user: "User | None"
    buyer: "User" = has_one(lambda: User.id == Order.user_id)
    kind: Kind
    address: Address | None
    at: FeatureTime
    day: date
    took: timedelta | None = None
    lines: list[Address]
    words: "set[str]"
    limit: ClassVar[int] = 3
    _hidden: int = 4
    score: float = feature(default=1., max_staleness="infinity")

    def total(self): ...

@online(tags="fast", environment=["prod", "dev"], cron="*/15 * * * *", timeout="1m30s")
async def f(
    a: Order.user.name,
    b: "Optional[Order.user.email]" = None,
    *,
    now: Now,
    c: Order.score | None = 1.5,
) -> Features[Order.kind, "Order.day"]: ...

@online
def g(a: Order.id) -> Features[Order] - Order.kind: ...

@online()
def h(now: Now) -> "Order.took": ...
`,
    },
    "computed values of options": {
      "a.py": `${user}
from datetime import timedelta
LIMIT = "5s"
@online(timeout=LIMIT, cron=timedelta(days=1), environment=[*["a"], LIMIT], tags=[f"x{LIMIT}"], owner=None)
def f(x: User.id) -> User.name: ...
`,
    },
    "modules through packages and relative imports": {
      "pkg/__init__.py": "from .models import User\nfrom . import models\n",
      "pkg/models.py": user,
      "pkg/sub/work.py": `from svc import online
from .. import models
from ..models import User as Person
import pkg.models
import pkg

@online
def f(a: Person.id) -> models.User.name: ...

@online
def g(a: pkg.models.User.id) -> pkg.User.email: ...
`,
    },
    "the word features in another meaning": {
      "a.py": `import features
from elsewhere import online, Features

@features.features
class User:
    pass

@online
def f(x): ...
`,
      "features.py": "def features(cls): return cls\n",
    },
    "SQL over classes that are not understood": {
      "a.py": `${SDK}
from base import Base
@features
class User(Base):
    id: int
`,
      "q.svc.sql": "-- resolves: User\n-- source: pg\nselect id, whatever from t where x = ${user.thing}",
      "r.svc.sql": "-- resolves: Elsewhere\n-- source: pg\nselect id from t",
      "b.py": "from svc.features import features\nThing = features(object)\n",
    },
  };
  for (const [what, sources] of Object.entries(silent)) test(what, () => expect(found(sources)).toEqual([]));
});

test("files that are no modules, and files too large to be read", () => {
  expect(found({ "tests/test_x.py": "x = (", "conftest.py": "x = (", "x.py": `x = "${"y".repeat(2_000_000)}` })).toEqual([]);
});

const lacksPython = lacks("Python 3.10", python !== undefined);
test.skipIf(lacksPython)("Python's standard library has no syntax errors", async () => {
  const root = Bun.spawnSync([python as string, "-c", "import os; print(os.path.dirname(os.__file__))"])
    .stdout.toString()
    .trim();
  const folders = ["*", "asyncio/*", "json/*", "email/*", "unittest/*", "concurrent/**/*", "importlib/**/*", "xml/**/*"];
  const paths = folders.flatMap((folder) => [...new Glob(`${folder}.py`).scanSync(root)]);
  expect(paths.length).toBeGreaterThan(150);
  for (const path of paths) {
    const text = await Bun.file(join(root, path)).text();
    expect([path, checkPythonSyntax(text).problem]).toEqual([path, undefined]);
  }
});

test.skipIf(lacksPython)("what is called a syntax error is one: damaged sources, each compiled by Python", async () => {
  const root = join(import.meta.dir, "../../..");
  const texts = (await filesOf(join(root, "test/fixtures/flights")))
    .concat(await filesOf(join(root, "src/sdk/svc")))
    .filter((file) => file.path.endsWith(".py"));
  const edit = fc.record({
    file: fc.nat(texts.length - 1),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.nat(6),
    insert: fc.constantFrom(
      "",
      "(",
      ")",
      "]",
      "'",
      '"',
      ":",
      "=",
      ",",
      " ",
      "\n",
      "    ",
      "x",
      "if",
      "1",
      "*",
      "->",
      "\\",
      "@",
      "lambda",
      "match",
      "f'",
      "{",
      "}",
      "not ",
      ".",
    ),
  });
  const damaged = fc.sample(edit, { numRuns: runs(700, 20_000), seed }).map(({ file, at, cut, insert }) => {
    const { text } = texts[file] as { text: string };
    const short = text.slice(0, 6000);
    const offset = Math.floor(at * short.length);
    return (
      short.slice(0, short.lastIndexOf("\n", offset) + 1) +
      short.slice(short.lastIndexOf("\n", offset) + 1, offset) +
      insert +
      short.slice(offset + cut)
    );
  });
  const called = damaged.filter((text) => checkPythonSyntax(text).problem);
  expect(called.length).toBeGreaterThan(200);
  const code =
    "import json, sys, warnings\nwarnings.simplefilter('ignore')\nfor i, t in enumerate(json.load(sys.stdin)):\n    try:\n        compile(t, 'x', 'exec', dont_inherit=True)\n        print(i)\n    except (SyntaxError, ValueError):\n        pass\n";
  const result = Bun.spawnSync([python as string, "-I", "-c", code], { stdin: Buffer.from(JSON.stringify(called)) });
  expect(result.exitCode).toBe(0);
  const accepted = result.stdout.toString().split("\n").filter(Boolean).map(Number);
  expect(accepted.map((index) => [called[index], checkPythonSyntax(called[index] as string).problem])).toEqual([]);
});

test("never throws, and every place is inside of its file", () => {
  const words = fc.constantFrom(
    "@features",
    "@online",
    "class A:",
    "def f(",
    "x: int",
    "(",
    ")",
    "[",
    "]",
    "'",
    '"""',
    "\n",
    "    ",
    "\t",
    "=",
    "->",
    ":",
    "User.id",
    "import *",
    "from . import x",
    "lambda",
    "f'{",
    "}'",
    "😀",
    "#",
    "\\",
    "Primary[",
    "\r\n",
    "\ufeff",
    "-- resolves: A",
    "-- source: x",
    "select id,",
    "from t",
    "${a.",
    "windowed('1d',",
    "_.x",
    "\0",
  );
  const broken = [...DEFINITION_FIXTURES, ...GRAPH_FIXTURES].flatMap(({ files }) => Object.values(files)).map((text) => marked(text).text);
  const damaged = fc
    .tuple(
      fc.constantFrom(...broken),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.nat(9),
      fc.oneof(words, fc.constant("")),
      fc.boolean(),
    )
    .map(([text, place, cut, insert, isDos]) => {
      const at = Math.floor(place * text.length);
      const edited = text.slice(0, at) + insert + text.slice(at + cut);
      return isDos ? edited.replaceAll("\n", "\r\n") : edited;
    });
  const source = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(words, { maxLength: 30 }).map((parts) => `${SDK}${parts.join(" ")}`),
    damaged,
  );
  fc.assert(
    fc.property(source, source, (text, sql) => {
      const files = [
        { path: "a.py", text },
        { path: "b.svc.sql", text: sql },
      ];
      const sourceOf = (path: string) => files.find((file) => file.path === path)?.text;
      const diagnostics = lintStatically({ files });
      for (const { span } of diagnostics) {
        const lines = sourceOf(span?.file ?? "")?.split("\n") ?? [];
        const { line = 0, column = 0, endLine = 0, endColumn = 0 } = span ?? {};
        const width = (number: number) => [...(lines[number - 1] ?? "")].length;
        expect([line, endLine]).toEqual([Math.max(1, line), Math.min(endLine, lines.length)]);
        expect([column, endColumn]).toEqual([Math.min(column, width(line) + 1), Math.min(endColumn, width(endLine) + 1)]);
        expect(column).toBeGreaterThan(0);
        expect(endLine > line || (endLine === line && endColumn >= column)).toBe(true);
      }
      expect(formatDiagnostics(diagnostics, sourceOf)).toEndWith("found.");
      for (const diagnostic of diagnostics) {
        const { range } = lspDiagnostic(diagnostic, sourceOf, "/p");
        const line = sourceOf(diagnostic.span?.file ?? "")?.split("\n")[range.start.line] ?? "";
        expect(range.start.character).toBeLessThanOrEqual(line.length);
      }
    }),
    seeded(500),
  );
}, 300_000);

test("hostile sources come to an end", () => {
  const deep = 100_000;
  const sources = [
    `x = ${"(".repeat(deep)}${")".repeat(deep)}`,
    `x = ${"a.".repeat(deep)}b`,
    `x = ${"-".repeat(deep)}1`,
    `${SDK}@features\nclass A:\n    id: ${"list[".repeat(150)}int${"]".repeat(150)}\n    b: ${"int | ".repeat(20_000)}None\n`,
    `x = "${"y".repeat(10_000_000)}"`,
    "if x:\n".repeat(1000),
    `${Array.from({ length: 95 }, (_, i) => `${" ".repeat(i)}if x:`).join("\n")}\n${" ".repeat(95)}y`,
    `for ${"a, ".repeat(50_000)}b in c: pass`,
    `x = f'${"{f'".repeat(5000)}`,
    `x = f"${"{".repeat(deep)}`,
    `class A: x: "${"A[".repeat(900)}"`,
  ];
  for (const text of sources)
    expect(lintStatically({ files: [{ path: "a.py", text }] }).every((finding) => finding.code === 101)).toBe(true);
});
