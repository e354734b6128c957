/** `svc lsp` as an editor meets it: a process, driven by the client library that editors use. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  CompletionRequest,
  type Diagnostic,
  DidChangeWatchedFilesNotification,
  DidCloseTextDocumentNotification,
  HoverRequest,
} from "vscode-languageserver-protocol/node";
import { Editor } from "../harness/editor.ts";

setDefaultTimeout(300_000);

const FILES: Readonly<Record<string, string>> = {
  "svc.yaml": "project: editor\nenvironments:\n  default: {}\n",
  "pkg/__init__.py": "",
  "pkg/models.py": `from __future__ import annotations

from datetime import datetime

from svc import DataFrame, SQLiteSource
from svc.features import feature, features
from svc.streams import Windowed, windowed

main = SQLiteSource(name="main", path="app.db")


@features(owner="bank@example.com", tags=["team:risk"])
class Account:
    """Where the money is."""

    id: int
    # What is left, in cents. 😀
    balance: int
    opened_at: datetime
    users: DataFrame[User]


@features(max_staleness="1h")
class User:
    id: int
    account_id: Account.id
    account: Account
    # What people call the user.
    # :owner: people@example.com
    name: str | None
    renamed: float = feature(name="other")
    fails: Windowed[int] = windowed("10m", "1d", default=0)
`,
  "resolvers.py": `from pkg.models import Account, User as Person
from svc import online


@online
def get_name(id: Person.id) -> Person.name:
    return str(id)
`,
  "user.svc.sql": `-- Users.
-- resolves: User
-- source: main
select account_id, other from users where id = \${user.id}
`,
};

const codes = (found: Diagnostic[]) => found.map(({ code }) => code);
const resolver = (parameter: string) => `from pkg.models import Account, User as Person
from pkg import models
from svc import online


@online
def get_name(id: ${parameter}) -> Person.name:
    return str(id)
`;
const sql = (body: string, header = "resolves: User") => `-- Users.\n-- ${header}\n-- source: main\n${body}\n`;

describe("a session", () => {
  let editor: Editor;
  beforeAll(async () => {
    editor = new Editor(FILES);
    await editor.start();
    for (const path of Object.keys(FILES)) if (path !== "svc.yaml") await editor.open(path);
    await editor.findings("resolvers.py", (found) => found.length === 0);
  }, 300_000);
  afterAll(async () => {
    expect(await editor.stop()).toBe(0);
    await editor[Symbol.asyncDispose]();
  });

  test("it asks to hear of files that change", () => {
    expect(editor.registered).toMatchObject([{ method: "workspace/didChangeWatchedFiles" }]);
  });

  test("findings of the text while typing, gone when it is right again", async () => {
    await editor.type("resolvers.py", resolver("Person.idd"));
    const [found] = await editor.findings("resolvers.py", (all) => all.length > 0);
    expect(found).toMatchObject({ code: 142, severity: 1, source: "svc", range: { start: { line: 6, character: 24 } } });
    expect(found?.message).toContain("idd");
    await editor.type("resolvers.py", resolver("Person.id"));
    await editor.findings("resolvers.py", (all) => all.length === 0);
  });

  test("findings of SQL files while typing", async () => {
    await editor.type("user.svc.sql", sql("select account_id, othr from users where id = ${user.id}"));
    const [found] = await editor.findings("user.svc.sql", (all) => all.length > 0);
    expect(found).toMatchObject({ code: 153, range: { start: { line: 3, character: 19 }, end: { line: 3, character: 23 } } });
    await editor.type("user.svc.sql", FILES["user.svc.sql"] ?? "");
    await editor.findings("user.svc.sql", (all) => all.length === 0);
  });

  test("findings that only running the code shows, on saving", async () => {
    const text = `${resolver("Person.id")}\n\nraise RuntimeError("no luck")\n`;
    await editor.type("resolvers.py", text);
    await editor.save("resolvers.py");
    const found = await editor.findings("resolvers.py", (all) => all.some(({ message }) => String(message).includes("no luck")));
    expect(codes(found)).toEqual([102]);
    await editor.type("resolvers.py", resolver("Person.id"));
    await editor.findings("resolvers.py", (all) => all.length === 0);
    await editor.save("resolvers.py");
    await editor.findings("resolvers.py", (all) => all.length === 0);
  });

  test("completion in Python: features, through relations, by their names in Python", async () => {
    expect(await editor.labels("resolvers.py", resolver("Person.|>"))).toEqual(["id", "account_id", "account", "name", "renamed", "fails"]);
    expect(await editor.labels("resolvers.py", resolver("Person.na|>"))).toContain("name");
    expect(await editor.labels("resolvers.py", resolver("Person.account.|>"))).toEqual(["id", "balance", "opened_at", "users"]);
    expect(await editor.labels("resolvers.py", resolver("models.Account.|>"))).toEqual(["id", "balance", "opened_at", "users"]);
    expect(await editor.labels("resolvers.py", resolver("Account.users.na|>"))).toContain("name");
    expect(await editor.labels("resolvers.py", resolver("Account.users[Person.n|>"))).toContain("name");
    expect(await editor.labels("resolvers.py", resolver("|>"))).toEqual(["Account", "User"]);
    expect(await editor.labels("resolvers.py", resolver("'Acc|>'"))).toContain("Account");
    expect(await editor.labels("resolvers.py", resolver("Person.id.|>"))).toEqual([]);
    expect(await editor.labels("resolvers.py", resolver("Nobody.|>"))).toEqual([]);
    expect(await editor.labels("resolvers.py", `${resolver("Person.id")}# Person.|>`)).toEqual([]);
    await editor.type("resolvers.py", resolver("Person.id"));
  });

  test("a suggestion replaces the word that it completes, and says what it is", async () => {
    const items = await editor.complete("resolvers.py", resolver("Person.na|>me"));
    const item = items.find(({ label }) => label === "name");
    expect(item).toMatchObject({
      detail: "str | None",
      textEdit: { newText: "name", range: { start: { line: 6, character: 24 }, end: { line: 6, character: 28 } } },
    });
    expect(item).toHaveProperty("documentation.value", expect.stringContaining("What people call the user."));
  });

  test("completion knows a feature that was typed a moment ago, in a file that is not saved", async () => {
    await editor.type("pkg/models.py", (FILES["pkg/models.py"] ?? "").replace("    balance: int", "    balance: int\n    brand_new: str"));
    expect(await editor.labels("resolvers.py", resolver("Account.|>"))).toContain("brand_new");
    await editor.type("pkg/models.py", FILES["pkg/models.py"] ?? "");
    expect(await editor.labels("resolvers.py", resolver("Account.|>"))).not.toContain("brand_new");
  });

  test("a file that cannot be parsed for the moment keeps its names", async () => {
    await editor.type("pkg/models.py", `${FILES["pkg/models.py"]}\n\nclass (:\n`);
    await editor.findings("pkg/models.py", (all) => codes(all).includes(101));
    expect(await editor.labels("resolvers.py", resolver("Account.|>"))).toContain("balance");
    await editor.type("pkg/models.py", FILES["pkg/models.py"] ?? "");
    await editor.findings("pkg/models.py", (all) => !codes(all).includes(101));
  });

  test("completion in SQL: select list, placeholders, header", async () => {
    const labels = (text: string) => editor.labels("user.svc.sql", text);
    expect(await labels(sql("select acc|> from users"))).toEqual(["id", "account_id", "name", "other", "fails__600__", "fails__86400__"]);
    expect(await labels(sql("select id as |> from users"))).toContain("other");
    expect(await labels(sql("select id from users where i|>"))).toEqual([]);
    expect(await labels(sql("select id from users where id = ${|>}"))).toEqual(["account", "user", "now"]);
    expect(await labels(sql("select id from users where id = ${user.|>}"))).toContain("other");
    expect(await labels(sql("select id from users where id = ${user.account.b|>"))).toContain("balance");
    expect(await labels(sql("select 1", "resolves: Us|>"))).toEqual(["Account", "User"]);
    expect(await labels(sql("select 1", "resolves: User\n-- source: |>"))).toEqual(["main"]);
    expect(await labels("-- re|>\nselect 1")).toContain("resolves");
    await editor.type("user.svc.sql", FILES["user.svc.sql"] ?? "");
  });

  test("hover: type, owner, tags, description, resolvers", async () => {
    const name = await editor.hover("resolvers.py", resolver("Person.na|>me"));
    expect(name).toContain("```python\nuser.name: str | None\n```");
    for (const said of ["What people call the user.", "owner people@example.com", "stored for 1h", "resolved by `resolvers.get_name`"])
      expect(name).toContain(said);
    const balance = await editor.hover("resolvers.py", resolver("Person.account.bal|>ance"));
    for (const said of ["account.balance: int", "in cents. 😀", "owner bank@example.com", "tags `team:risk`"])
      expect(balance).toContain(said);
    expect(await editor.hover("resolvers.py", resolver("Person.acc|>ount.balance"))).toContain("user.account: Account");
    expect(await editor.hover("resolvers.py", resolver("Account.us|>ers"))).toContain("account.users: DataFrame[User]");
    const fails = await editor.hover("resolvers.py", resolver("Person.fa|>ils['10m']"));
    for (const said of ["user.fails[10m]: int", "windows 10m, 1d"]) expect(fails).toContain(said);
    expect(await editor.hover("resolvers.py", resolver("Per|>son.id"))).toContain("class User");
    expect(await editor.hover("user.svc.sql", sql("select oth|>er from users where id = ${user.id}"))).toContain("user.other: float");
    expect(await editor.hover("user.svc.sql", sql("select other from users where id = ${user.i|>d}"))).toContain("primary key");
    expect(await editor.hover("pkg/models.py", (FILES["pkg/models.py"] ?? "").replace("opened_at", "open|>ed_at"))).toContain(
      "account.opened_at: datetime",
    );
    expect(await editor.hover("resolvers.py", resolver("Person.id").replace("return str", "return st|>r"))).toBe("");
  });

  test("definitions", async () => {
    expect(await editor.define("resolvers.py", resolver("Person.account.bal|>ance"))).toBe("pkg/models.py: balance");
    expect(await editor.define("resolvers.py", resolver("Person.ren|>amed"))).toBe("pkg/models.py: renamed");
    expect(await editor.define("resolvers.py", resolver("Per|>son.id"))).toBe("pkg/models.py: User");
    expect(await editor.define("user.svc.sql", sql("select oth|>er from users"))).toBe("pkg/models.py: renamed");
    expect(await editor.define("user.svc.sql", sql("select 1", "resolves: Us|>er"))).toBe("pkg/models.py: User");
    expect(await editor.define("resolvers.py", resolver("Person.id").replace("return st", "return s|>t"))).toBe("");
  });

  test("documents outside of the project are no concern", async () => {
    const elsewhere = { textDocument: { uri: "file:///somewhere/else.py" }, position: { line: 0, character: 0 } };
    expect(await editor.connection.sendRequest(CompletionRequest.type, elsewhere)).toEqual([]);
    expect(await editor.connection.sendRequest(HoverRequest.type, { ...elsewhere, textDocument: { uri: "untitled:1" } })).toBeNull();
  });

  test("closing without saving goes back to the file", async () => {
    await editor.type("user.svc.sql", sql("select nothing_such from users where id = ${user.id}"));
    await editor.findings("user.svc.sql", (all) => all.length > 0);
    await editor.connection.sendNotification(DidCloseTextDocumentNotification.type, { textDocument: { uri: editor.uri("user.svc.sql") } });
    await editor.findings("user.svc.sql", (all) => all.length === 0);
    await editor.open("user.svc.sql");
  });

  test("a method that does not exist is refused, and the session goes on", async () => {
    await expect(editor.connection.sendRequest("textDocument/nothing", {})).rejects.toMatchObject({ code: -32601 });
    expect(await editor.labels("resolvers.py", resolver("Person.|>"))).toContain("id");
    await editor.type("resolvers.py", resolver("Person.id"));
  });
});

describe("beginning and end", () => {
  test("capabilities", async () => {
    await using editor = new Editor(FILES);
    const { capabilities, serverInfo } = await editor.start();
    expect(serverInfo?.name).toBe("svc");
    expect(capabilities).toMatchObject({ hoverProvider: true, definitionProvider: true, positionEncoding: "utf-16" });
    expect(await editor.stop()).toBe(0);
  });

  test("requests before `initialize` are refused", async () => {
    await using editor = new Editor(FILES);
    await expect(editor.connection.sendRequest("textDocument/hover", {})).rejects.toMatchObject({ code: -32002 });
  });

  test("an editor that goes away ends it, with exit code 1", async () => {
    await using editor = new Editor(FILES);
    await editor.start();
    editor.child.stdin.end();
    expect(await editor.exited()).toBe(1);
  });

  test("a folder without a project serves nothing and fails nothing", async () => {
    await using editor = new Editor({ "a.py": "x: int\n" });
    await editor.start();
    await editor.open("a.py", "x: int\n");
    expect(await editor.labels("a.py", "x: |>\n")).toEqual([]);
    expect(await editor.stop()).toBe(0);
  });

  test("a project that begins to exist, and a project file that changes", async () => {
    await using editor = new Editor({ "features.py": FILES["pkg/models.py"] ?? "" });
    await editor.start();
    await editor.open("features.py");
    const changed = () =>
      editor.connection.sendNotification(DidChangeWatchedFilesNotification.type, { changes: [{ uri: editor.uri("svc.yaml"), type: 2 }] });
    editor.write("svc.yaml", "project: later\n");
    await changed();
    await editor.findings("features.py", (all) => codes(all).includes(163));
    editor.write("svc.yaml", "project: later\nvalidation:\n  feature:\n    metadata:\n      - name: description\n        missing: error\n");
    await changed();
    await editor.findings("features.py", (all) => codes(all).includes(192));
    editor.write("svc.yaml", "project: [\n");
    await changed();
    expect(await editor.hover("features.py", (FILES["pkg/models.py"] ?? "").replace("class User", "class Us|>er"))).toContain("class User");
    expect(await editor.stop()).toBe(0);
  });

  test("bytes that are no messages end it with a message", async () => {
    await using editor = new Editor(FILES);
    editor.child.stdin.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await editor.exited()).toBe(1);
    expect(editor.stderr).toMatch(/^Error: stdin holds no message.*\n.*svc lint/);
  });
});
