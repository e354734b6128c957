/**
 * `svc lint` on files as people and machines really write them: any script, line ending and size,
 * and some that are no text.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { runMain } from "../harness/context.ts";
import { writeProject } from "./platform.ts";

setDefaultTimeout(300_000);

const home = tempFolder("svc-lint-texts-");
const HEAD = "from svc import SQLiteSource, online\nfrom svc.features import DataFrame, features\n";
const USER = `${HEAD}\n\n@features\nclass User:\n    id: int\n    name: str\n`;
const EMPTY = { "features.py": "", "resolvers.py": "" };

/**
 * The places of the findings in the terminal, with their numbers, and of the same run the ranges in
 * JSON.
 */
async function lint(files: Record<string, string>, prepare: (folder: string) => void = () => undefined) {
  const cwd = writeProject({ ...EMPTY, ...files });
  prepare(cwd);
  const run = (...words: string[]) => runMain(["lint", "--local", ...words], { cwd, env: { HOME: home } });
  const done = await run();
  const found = JSON.parse((await run("--json")).stdout) as {
    uri: string;
    code: number;
    message: string;
    range: { start: { line: number; character: number }; end: { line: number; character: number } };
  }[];
  const places = [...done.stdout.matchAll(/^(?:Error|Warning)\[(\d+)\]: .*\n(?: {2}\S.*\n)* *--> (.*)/gm)].map(
    ([, code, place]) => `${code} ${place}`,
  );
  const ranges = found.map(({ code, range: { start, end } }) => `${code} ${start.line}:${start.character}-${end.line}:${end.character}`);
  return { ...done, places, ranges, messages: found.map(({ message }) => message) };
}

describe("columns: code points from 1 in the terminal, UTF-16 units from 0 in JSON", () => {
  test("letters of any script, beyond the basic plane too, and tabs", async () => {
    const resolver = 'def f(x: "Größe.id" = "😀",\ty: "Größe.名" = "") -> Größe.名前: ...\n';
    const { places, ranges, stdout } = await lint({
      "features.py": `${HEAD}\n\n@features\nclass Größe:\n    id: int\n    名前: str\n\n\n@online\n${resolver}`,
      "q.svc.sql": "-- resolves: Größe\n-- source: x\nselect id,\t'😀' as 名\n",
    });
    expect(places).toContain("142 features.py:12:38");
    expect(ranges).toContain("142 11:38-11:39");
    const shown = 'def f(x: "Größe.id" = "😀",    y: "Größe.名" = "") -> Größe.名前: ...';
    expect(stdout).toContain(`12 | ${shown}\n   | ${" ".repeat(41)}^^ no such feature\n`);
    expect(places).toContain("153 q.svc.sql:3:19");
    expect(ranges).toContain("153 2:19-2:20");
  });

  for (const [what, change] of [
    ["lines that end with CRLF", (text: string) => text.replaceAll("\n", "\r\n")],
    ["a byte order mark", (text: string) => `\ufeff${text}`],
  ] as const)
    test(what, async () => {
      const { places, ranges, stdout } = await lint({
        "a.py": change(`${USER}\n\n@online\ndef f(x) -> User.nmae: ...\n`),
        "b.svc.sql": change("-- resolves: Usr\n-- source: x\n-- tgas: a\nselect id,\n  nmae from t\n"),
        "c.svc.sql": change("-- resolves: User\n-- source: x\nselect id,\n  nmae from t\n"),
      });
      expect(places).toEqual(["140 a.py:12:7", "142 a.py:12:18", "151 b.svc.sql:1:14", "152 b.svc.sql:3:4", "153 c.svc.sql:4:3"]);
      expect(ranges).toEqual(["140 11:6-11:7", "142 11:17-11:21", "151 0:13-0:16", "152 2:3-2:7", "153 3:2-3:6"]);
      expect(stdout).not.toMatch(/[\r\ufeff]/);
    });

  test("a syntax error in the first line, behind a byte order mark", async () => {
    const { places, ranges } = await lint({ "a.py": "\ufeffx = )\n" });
    expect([places, ranges]).toEqual([["101 a.py:1:5"], ["101 0:4-0:5"]]);
  });
});

describe("files that are no text, or too much of it", () => {
  test("what is empty, not UTF-8, or holds zero bytes", async () => {
    const { places, exitCode } = await lint({ "blank.py": " \n\t\n", "empty.svc.sql": "", "features.py": USER }, (folder) => {
      const write = (name: string, bytes: Buffer) => Bun.write(join(folder, name), bytes);
      write("latin.py", Buffer.from("x = 'é'\n", "latin1"));
      write("declared.py", Buffer.from("# -*- coding: latin-1 -*-\nx = 'é'\n", "latin1"));
      write("zero.py", Buffer.from("x = 1\0\n"));
      write("latin.svc.sql", Buffer.from("-- resolves: User\n-- source: x\nselect id, 'é' as name\n", "latin1"));
      write("zero.svc.sql", Buffer.from("-- resolves: User\n-- source: x\nselect id, '\0' as name\n"));
    });
    expect(places).toEqual([
      "150 empty.svc.sql:1:1",
      "150 empty.svc.sql:1:1",
      "157 empty.svc.sql:1:1",
      "101 latin.py:1:1",
      "152 latin.svc.sql:3:13",
      "101 zero.py:1:1",
      "152 zero.svc.sql:3:13",
    ]);
    expect(exitCode).toBe(1);
  });

  test("a line of ten megabytes, and a hundred thousand brackets", async () => {
    const { places, stdout } = await lint({
      "long.py": `x = "${"a".repeat(10_000_000)}"\n`,
      "deep.py": `x = ${"[".repeat(100_000)}${"]".repeat(100_000)}\n`,
      "list.py": `x = [${"1,".repeat(400_000)}] )\n`,
      "long.svc.sql": `-- resolves: User\n-- source: x\nselect ${"a,".repeat(2_000_000)}id from t\n`,
      "deep.svc.sql": `-- resolves: User\n-- source: x\nselect ${"(".repeat(100_000)}1${")".repeat(100_000)} as nmae, 2 as id from t\n`,
      "features.py": USER,
    });
    expect(places.filter((place) => place.startsWith("101"))).toEqual(["101 deep.py:1:205", "101 list.py:1:800008"]);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThan(400);
  });

  test("links that lead around in circles, nowhere, or out", async () => {
    const { stderr, stdout, exitCode } = await lint(
      { "features.py": `${USER}\n\n@online\ndef f(id: User.id) -> User.name: ...\n` },
      (folder) => {
        for (const [path, target] of [
          ["self", "."],
          ["up", ".."],
          ["a.py", "b.py"],
          ["b.py", "a.py"],
          ["gone.svc.sql", "nowhere.svc.sql"],
        ] as const)
          symlinkSync(target, join(folder, path));
      },
    );
    expect([exitCode, stdout]).toEqual([0, "No problems found.\n"]);
    for (const path of ["self", "up", "a.py", "b.py", "gone.svc.sql"]) expect(stderr).toContain(`Skipped ${path}: the link leads`);
  });
});

describe("names and totals", () => {
  const classOf = (name: string) => `${HEAD}\n\n@features\nclass ${name}:\n    id: int\n`;

  test("classes whose names are one in snake_case, in one file and in two", async () => {
    const { messages, places } = await lint({
      "a.py": `${classOf("HTTPServer")}${classOf("HttpServerFeatures").replace(HEAD, "")}`,
      "b.py": classOf("HTTP_Server"),
    });
    expect(places).toEqual(["116 a.py:11:7", "111 b.py:6:7"]);
    expect(messages).toEqual([
      "HTTPServer and HttpServerFeatures both have the namespace 'http_server': rename one, or give it 'name='",
      "the namespace 'http_server' is defined in two files: rename one class, or give it 'name='",
    ]);
  });

  test("two resolvers that both say they have all rows, in Python and in SQL", async () => {
    const total = (name: string) => `\n\n@online(total=True)\ndef ${name}() -> DataFrame[User.id, User.name]: ...\n`;
    const python = await lint({ "features.py": `${USER}${total("one")}${total("two")}` });
    expect(python.messages).toEqual([
      "features.one and features.two both compute user.id, user.name, and each says that it has all rows\n" +
        "Give one of them a tag, an environment or a condition (`when`), take `total` from one that has not all rows, or remove one.",
    ]);
    const source = '\n\nlite = SQLiteSource(name="lite", path="app.db")\n';
    const query = "-- resolves: User\n-- source: lite\n-- total: true\nselect id, name from t\n";
    const sql = await lint({ "features.py": USER + source, "one.svc.sql": query, "two.svc.sql": query });
    expect(sql.places).toEqual(["162 two.svc.sql:1:14"]);
    expect(sql.messages[0]).toStartWith("one and two both compute user.name, and each says that it has all rows\n");
  });

  test("files that import each other for the type checker only", async () => {
    const head = (other: string, name: string) =>
      `from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\nfrom svc.features import DataFrame, features\n\nif TYPE_CHECKING:\n    from ${other} import ${name}\n`;
    const account = `${head("users", "User")}\n\n@features\nclass Account:\n    id: int\n    users: DataFrame[User]\n`;
    const user = (target: string) =>
      `${head("accounts", "Account")}\n\n@features\nclass User:\n    id: int\n    account_id: Account.id\n    account: ${target}\n`;
    const sound = await lint({ "accounts.py": account, "users.py": user("Account") });
    expect([sound.places, sound.exitCode]).toEqual([[], 0]);
    const broken = await lint({ "accounts.py": account, "users.py": user("Acount") });
    expect(broken.messages).toEqual(["'Acount' in this annotation is never defined; did you mean 'Account'?"]);
    expect(broken.places).toEqual(["124 users.py:15:14"]);
  });
});
