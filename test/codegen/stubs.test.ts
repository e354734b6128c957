/** Stubs: type checkers accept projects with them, and find features that do not exist. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateStubs, type Stub } from "../../src/codegen/stubs.ts";
import { readProjectText } from "../../src/project/lint/lint.ts";
import { SHAPES } from "./shapes.ts";
import { lacksPackages, TOOLS } from "./tools.ts";

const FIXTURES = join(import.meta.dir, "..");
const SDK = join(FIXTURES, "../src/sdk");
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function stubsOf(files: Readonly<Record<string, string>>): Stub[] {
  return generateStubs(readProjectText({ files: Object.entries(files).map(([path, text]) => ({ path, text })) }).model);
}

/** A folder with files and their stubs, set up for both checkers. */
async function checked(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "svc-stubs-"));
  folders.push(folder);
  for (const [path, text] of Object.entries(files)) await Bun.write(join(folder, path), text);
  for (const { path, text } of stubsOf(files)) await Bun.write(join(folder, path), text);
  await Bun.write(join(folder, "mypy.ini"), "[mypy]\n[mypy-svc.*]\nfollow_imports = silent\n");
  await Bun.write(join(folder, "pyrightconfig.json"), JSON.stringify({ extraPaths: [SDK], reportMissingModuleSource: false }));
  return folder;
}

function fixture(path: string): Record<string, string> {
  const folder = join(FIXTURES, path);
  return Object.fromEntries([...new Bun.Glob("**/*.py").scanSync(folder)].map((file) => [file, readFileSync(join(folder, file), "utf8")]));
}

const CACHE = mkdtempSync(join(tmpdir(), "svc-mypy-"));
folders.push(CACHE);

/** What mypy finds, by file and line. */
function mypy(folder: string): string[] {
  const argv = ["python3", "-m", "mypy", "--strict", "--no-error-summary", "--no-color-output", "--cache-dir", CACHE, "."];
  const { stdout, stderr } = Bun.spawnSync(argv, { cwd: folder, env: { ...process.env, MYPYPATH: SDK } });
  expect(stderr.toString()).toBe("");
  return lines(stdout.toString().replace(/^.*: note: .*$/gm, ""));
}

/** What pyright finds in the modules themselves, by file and line. */
function pyright(folder: string): string[] {
  const { stdout } = Bun.spawnSync([TOOLS.pyright, "--outputjson"], { cwd: folder });
  const { generalDiagnostics } = JSON.parse(stdout.toString()) as {
    generalDiagnostics: { file: string; severity: string; message: string; range: { start: { line: number } } }[];
  };
  return lines(
    generalDiagnostics
      .filter(({ severity }) => severity === "error")
      .map(
        ({ file, message, range }) =>
          `${file.slice(file.indexOf("svc-stubs-")).split("/").slice(1).join("/")}:${range.start.line + 1}: ${message.split("\n", 1)[0]}`,
      )
      .join("\n"),
  );
}

function lines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith(" "));
}

/** `features.py:3` of each finding. */
const places = (found: readonly string[]) => [...new Set(found.map((line) => line.split(":").slice(0, 2).join(":")))];

/**
 * Annotations that are no types to a checker, whatever a stub says: conditions, slices, what is left
 * out of `Features[...]`; lists in place of a DataFrame; for pyright windows in brackets. Elsewhere
 * its own opinion of defaults.
 */
const NO_TYPES: Readonly<Record<string, { readonly mypy?: readonly string[]; readonly pyright?: readonly string[] }>> = {
  "sdk/fixtures/frames": {
    mypy: ["resolvers.pyi:78"],
    pyright: ["resolvers.py:32", "resolvers.py:45", "resolvers.pyi:65", "resolvers.pyi:78"],
  },
  "sdk/fixtures/market": { pyright: ["resolvers.py:13", "resolvers.py:18"] },
  "sdk/fixtures/shop": {
    mypy: ["resolvers.py:44"],
    pyright: ["resolvers.py:44", "store/customers.py:48", "store/customers.py:49"],
  },
};

describe.skipIf(lacksPackages("mypy"))("type checkers accept", () => {
  test.each([
    "fixtures/flights",
    "fixtures/orchestrator",
    "sdk/fixtures/market",
    "sdk/fixtures/shop",
    "sdk/fixtures/frames",
    "sdk/fixtures/functions",
    "sdk/fixtures/filters",
    "sdk/fixtures/storing",
  ])("%s", async (path) => {
    const folder = await checked(fixture(path));
    const { mypy: toMypy = [], pyright: toPyright = [] } = NO_TYPES[path] ?? {};
    expect(places(mypy(folder)).sort()).toEqual([...toMypy]);
    expect(places(pyright(folder)).sort()).toEqual([...toPyright]);
  });

  test("features of all shapes, and finds what does not exist", async () => {
    const use = `from features import Account, Mood, Place, Tier, Txn, User
from svc import NamedQuery, online
from svc.client import SvcClient
from svc.features import DataFrame, Features


@online(when=User.age > 3)
def a(id: User.id, balance: User.account.balance, founded: User.account.bank.founded, f: User.fails__600__) -> User.nickname:
    return f"{id.real} {balance + 1} {founded.year} {f}"


@online
def b(rows: User.txns) -> Features[User.height, User.mood]:
    return User(height=sum(row.amount for row in rows), mood=Mood.so_so)


def c(user: User, rows: DataFrame[Txn]) -> object:
    cheap = rows[Txn.amount < 3, Txn.id]
    return user.account.balance, user.name.upper(), cheap.sum(), User.fails["10m"], User.code @ 2, User.id.isin([1]), (User.id == 1) & ~(User.active)


NamedQuery(name="q", input=[User.id], output=[User.name, User.account.bank.founded, User.txns, Account])
SvcClient().query({User.id: 1}, [User.name, User.friend.name])
User(id=1, name="x", nickname=None, tier=Tier.GOLD, home=Place("a", None), fails={"10m": 1}, old=None)
`;
    const wrong = `from features import User
from svc import online


@online
def a(id: User.idd) -> User.name:
    return "x"


@online
def b(balance: User.account.balanse) -> User.name:
    return "x"


OUTPUT = [User.nmae]
User(nmae="x")
User(name=3)
`;
    const folder = await checked({ ...SHAPES, "use.py": use, "wrong.py": wrong });
    expect(mypy(folder).map((line) => line.replace(/ {2}\[[a-z-]+\]$/, ""))).toEqual([
      'wrong.py:6: error: Name "User.idd" is not defined',
      'wrong.py:11: error: Name "User.account.balanse" is not defined',
      'wrong.py:15: error: "type[User]" has no attribute "nmae"',
      'wrong.py:16: error: Unexpected keyword argument "nmae" for "User"',
      'wrong.py:17: error: Argument "name" to "User" has incompatible type "int"; expected "str"',
    ]);
    expect(places(pyright(folder))).toEqual(["wrong.py:6", "wrong.py:11", "wrong.py:15", "wrong.py:16", "wrong.py:17"]);
  });
});

describe("a stub", () => {
  const stub = (text: string, path = "features.py") => stubsOf({ [path]: text }).map((one) => [one.path, one.text] as const);

  test("stands beside each module with feature classes, and nowhere else", () => {
    const files = { "a/__init__.py": "from svc.features import features\n@features\nclass A:\n    id: int\n", "b.py": "x = 1\n" };
    expect(stubsOf(files).map(({ path }) => path)).toEqual(["a/__init__.pyi"]);
  });

  test("keeps what is no feature class as it is written", () => {
    const text = `#!/usr/bin/env python
"""What is here."""

from __future__ import annotations

from svc.features import features

LIMIT: int = 3


@features(owner="a@example.com")
class User:
    """Who."""

    LEAST: ClassVar[int] = 1
    id: int  # the key

    def shown(self) -> str:
        return f"{self.id}"


def after(x: int) -> int:
    return x
`;
    const [[path, written] = ["", ""]] = stub(text);
    expect(path).toBe("features.pyi");
    expect(written).toStartWith("# Code generated by svc stubgen; DO NOT EDIT.\n");
    expect(written).toContain("from __future__ import annotations\n\nfrom typing import Any as _Any");
    for (const kept of [
      "LIMIT: int = 3\n",
      '    """Who."""\n',
      "    LEAST: ClassVar[int] = 1\n",
      "    def shown(self) -> str:\n        return",
      "def after(x: int) -> int:\n    return x\n",
    ])
      expect(written).toContain(kept);
  });

  test("knows that a class may have more than is written", () => {
    const open =
      "from svc.features import features\n\n@features\nclass User:\n    id: int\n    for name in 'ab':\n        locals()[name] = 1\n";
    expect(stub(open)[0]?.[1]).toContain("def __getattr__(cls, name: str) -> _Any: ...");
  });

  test("of the same text is the same, whatever else is in the project", () => {
    const one = SHAPES["features.py"] as string;
    expect(stub(one)).toEqual(stubsOf(SHAPES).map(({ path, text }) => [path, text]));
  });
});
