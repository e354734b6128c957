/**
 * `svc lsp` and what happens around a document: folders, files that come and go, broken messages,
 * the end.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  DidChangeTextDocumentNotification,
  DidChangeWatchedFilesNotification,
  DidCloseTextDocumentNotification,
  DidDeleteFilesNotification,
  DidRenameFilesNotification,
  ExitNotification,
  HoverRequest,
  ShutdownRequest,
} from "vscode-languageserver-protocol/node";
import { Editor } from "../harness/editor.ts";

setDefaultTimeout(300_000);

const USER = "from svc.features import features\n\n\n@features\nclass User:\n    id: int\n    name: str\n";
const BROKEN = "from user import User\nfrom svc import online\n\n\n@online\ndef f(id: User.idd) -> User.name:\n    return str(id)\n";
const PROJECT = { "svc.yaml": "project: editor\n", "user.py": USER, "resolvers.py": BROKEN };
const below = (folder: string) => Object.fromEntries(Object.entries(PROJECT).map(([path, text]) => [`${folder}/${path}`, text]));
const has = (code: number) => (found: { code?: unknown }[]) => found.some((one) => one.code === code);
const none = (found: unknown[]) => found.length === 0;

describe("folders", () => {
  test("of several the first with a project is served, and the others are named", async () => {
    await using editor = new Editor({ "notes/a.txt": "", ...below("one"), ...below("two") });
    await editor.start(["notes", "two", "one"]);
    await editor.findings("two/resolvers.py", has(142));
    expect(editor.said).toEqual([
      `svc serves one project of this workspace, ${join(editor.root, "two")}; for ${join(editor.root, "one")} open a window of its own`,
    ]);
    expect(editor.last("one/resolvers.py")).toBeUndefined();
    expect(await editor.stop()).toBe(0);
  });

  test("two folders of one project are one", async () => {
    await using editor = new Editor({ ...PROJECT, "sub/b.py": "" });
    await editor.start(["sub", "."]);
    await editor.findings("resolvers.py", has(142));
    expect(editor.said).toEqual([]);
    expect(await editor.stop()).toBe(0);
  });

  test("a project below the folder is found with its first document", async () => {
    await using editor = new Editor(below("services/features"));
    await editor.start();
    await editor.open("services/features/resolvers.py");
    await editor.findings("services/features/resolvers.py", has(142));
    expect(await editor.stop()).toBe(0);
  });
});

describe("files that come and go", () => {
  test("a file that is deleted takes its findings along, by the watcher or by the editor's own word", async () => {
    await using editor = new Editor({ ...PROJECT, "more.py": BROKEN.replace("def f", "def g") });
    await editor.start();
    await editor.findings("resolvers.py", has(142));
    rmSync(join(editor.root, "resolvers.py"));
    const changes = [{ uri: editor.uri("resolvers.py"), type: 3 as const }];
    await editor.connection.sendNotification(DidChangeWatchedFilesNotification.type, { changes });
    await editor.findings("resolvers.py", none);
    await editor.findings("more.py", has(142));
    rmSync(join(editor.root, "more.py"));
    await editor.connection.sendNotification(DidDeleteFilesNotification.type, { files: [{ uri: editor.uri("more.py") }] });
    await editor.findings("more.py", none);
    expect(await editor.stop()).toBe(0);
  });

  test("a file that is renamed takes them to its new name, open or not, and what imports it is told", async () => {
    await using editor = new Editor(PROJECT);
    await editor.start();
    await editor.open("resolvers.py");
    await editor.findings("resolvers.py", has(142));
    mkdirSync(join(editor.root, "pkg"));
    renameSync(join(editor.root, "resolvers.py"), join(editor.root, "pkg/work.py"));
    await editor.connection.sendNotification(DidCloseTextDocumentNotification.type, { textDocument: { uri: editor.uri("resolvers.py") } });
    await editor.open("pkg/work.py", BROKEN);
    const files = [{ oldUri: editor.uri("resolvers.py"), newUri: editor.uri("pkg/work.py") }];
    await editor.connection.sendNotification(DidRenameFilesNotification.type, { files });
    await editor.findings("resolvers.py", none);
    await editor.findings("pkg/work.py", has(142));
    renameSync(join(editor.root, "user.py"), join(editor.root, "people.py"));
    await editor.connection.sendNotification(DidRenameFilesNotification.type, {
      files: [{ oldUri: editor.uri("user.py"), newUri: editor.uri("people.py") }],
    });
    await editor.findings("pkg/work.py", has(102));
    expect(await editor.stop()).toBe(0);
  });
});

describe("many changes", () => {
  test("a hundred files that change at once hold nothing up, and are all seen", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`m${at}.py`, `from user import User\n\nX = User.id  # ${at}\n`]),
    );
    await using editor = new Editor({ ...PROJECT, ...many });
    await editor.start();
    await editor.findings("resolvers.py", has(142));
    for (const [at, path] of Object.keys(many).entries()) {
      editor.write(path, at % 50 === 0 ? "x = (\n" : "x = 1\n");
      await editor.connection.sendNotification(DidChangeWatchedFilesNotification.type, { changes: [{ uri: editor.uri(path), type: 2 }] });
    }
    editor.write("resolvers.py", BROKEN.replace("idd", "id"));
    await editor.connection.sendNotification(DidChangeWatchedFilesNotification.type, {
      changes: [{ uri: editor.uri("resolvers.py"), type: 2 }],
    });
    await editor.findings("m0.py", has(101));
    await editor.findings("m50.py", has(101));
    await editor.findings("resolvers.py", none);
    expect(await editor.stop()).toBe(0);
  });
});

describe("texts", () => {
  const files = {
    "svc.yaml": "project: editor\n",
    "größe.py":
      "from svc.features import features, feature\n\n\n@features\nclass Größe:\n    id: int\n    höhe: str | None = feature(owner='a@example.com')\n    名前: str\n",
    "work.py": "",
    "q.svc.sql": "",
  };
  const work = (path: string) =>
    `from größe import Größe as Maß\nfrom svc import online\n\n\n@online\ndef f(x: Maß.id) -> ${path}:\n    return ""\n`;

  test("names of any script are completed whole, hovered and found", async () => {
    await using editor = new Editor(files);
    await editor.start();
    const items = await editor.complete("work.py", work("Maß.hö|>he"));
    const item = items.find(({ label }) => label === "höhe");
    expect(items.map(({ label }) => label)).toEqual(["id", "höhe", "名前"]);
    expect(item?.textEdit).toEqual({ newText: "höhe", range: { start: { line: 5, character: 24 }, end: { line: 5, character: 28 } } });
    for (const said of ["größe.höhe: str | None", "owner a@example.com"])
      expect(await editor.hover("work.py", work("Maß.hö|>he"))).toContain(said);
    expect(await editor.define("work.py", work("Maß.名|>前"))).toBe("größe.py: 名前");
    expect(await editor.hover("q.svc.sql", "-- resolves: Grö|>ße\n-- source: x\nselect 名前 from t\n")).toContain("class Größe");
    await editor.type("work.py", work("Maß.nix").replace("Maß.id)", 'Maß.id = "😀")'));
    const [found] = await editor.findings("work.py", has(142));
    expect(found?.range).toEqual({ start: { line: 5, character: 31 }, end: { line: 5, character: 34 } });
    expect(await editor.stop()).toBe(0);
  });

  test("a line of ten megabytes, and a hundred thousand brackets, hold nothing up", async () => {
    await using editor = new Editor(PROJECT);
    await editor.start();
    const long = `x = "${"a".repeat(5_000_000)} ${"b".repeat(5_000_000)}"`;
    expect(await editor.labels("long.py", `${long} # |>\n`)).toEqual([]);
    expect(await editor.hover("long.py", `${long}; User.na|>me\n`)).toContain("user.name");
    expect(await editor.labels("long.svc.sql", `select ${"(".repeat(100_000)}|>`)).toEqual([]);
    expect(await editor.hover("user.py", USER.replace("name", "na|>me"))).toContain("user.name");
    expect(await editor.stop()).toBe(0);
  });
});

describe("messages", () => {
  test("of several changes in one message the last counts; a part of a text is refused and changes nothing", async () => {
    await using editor = new Editor(PROJECT);
    const { capabilities } = await editor.start();
    expect(capabilities.textDocumentSync).toMatchObject({ change: 1, openClose: true });
    await editor.open("resolvers.py");
    await editor.findings("resolvers.py", has(142));
    const textDocument = { uri: editor.uri("resolvers.py"), version: 50 };
    const send = (
      contentChanges: { text: string; range?: { start: { line: number; character: number }; end: { line: number; character: number } } }[],
    ) => editor.connection.sendNotification(DidChangeTextDocumentNotification.type, { textDocument, contentChanges } as never);
    await send([{ text: "x = (\n" }, { text: BROKEN.replace("idd", "id") }]);
    await editor.findings("resolvers.py", none);
    await send([{ text: "class (", range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } } }]);
    expect(await editor.hover("user.py", USER.replace("name", "na|>me"))).toContain("user.name: str");
    expect(editor.last("resolvers.py")).toEqual([]);
    expect(await editor.stop()).toBe(0);
  });

  test("what is no request, no JSON, or lacks its parameters is refused, and the session goes on", async () => {
    await using editor = new Editor(PROJECT);
    await editor.start();
    const refused = (method: string, params: object) =>
      editor.connection.sendRequest(method, params).then(
        () => "taken",
        (error) => error.code,
      );
    expect(await refused("textDocument/hover", {})).toBe(-32602);
    expect(await refused("textDocument/hover", { textDocument: { uri: editor.uri("user.py") } })).toBe(-32602);
    expect(await refused("textDocument/completion", { textDocument: 5, position: 5 })).toBe(-32602);
    expect(await refused("initialize", {})).toBe(-32601);
    expect(
      await editor.connection.sendRequest(HoverRequest.type, {
        textDocument: { uri: "file://elsewhere/a.py" },
        position: { line: 0, character: 0 },
      }),
    ).toBeNull();
    for (const body of [
      "{",
      "[]",
      "5",
      "null",
      '{"jsonrpc":"2.0","id":7}',
      '{"method":5}',
      '{"jsonrpc":"2.0","method":"textDocument/didOpen"}',
    ])
      editor.child.stdin.write(`Content-Length: ${body.length}\r\n\r\n${body}`);
    expect(await editor.hover("user.py", USER.replace("name", "na|>me"))).toContain("user.name: str");
    expect(await editor.stop()).toBe(0);
  });
});

test("at a finding the hover says what its rule means, and elsewhere it does not", async () => {
  await using editor = new Editor(PROJECT);
  await editor.start();
  await editor.findings("resolvers.py", has(142));
  const said = await editor.hover("resolvers.py", BROKEN.replace("User.idd", "User.i|>dd"));
  expect(said).toStartWith("**Error 142**: A feature does not exist");
  expect(said).toContain("`svc lint --explain 142`");
  const elsewhere = await editor.hover("resolvers.py", BROKEN.replace("-> User.name", "-> User.na|>me"));
  expect(elsewhere).toContain("user.name");
  expect(elsewhere).not.toContain("142");
});

describe("the end", () => {
  test("`exit` without `shutdown` is exit code 1", async () => {
    await using editor = new Editor(PROJECT);
    await editor.start();
    await editor.connection.sendNotification(ExitNotification.type);
    expect(await editor.exited()).toBe(1);
  });

  test("after `shutdown` requests are refused, and `exit` is 0", async () => {
    await using editor = new Editor(PROJECT);
    await editor.start();
    await editor.connection.sendRequest(ShutdownRequest.type);
    await expect(editor.connection.sendRequest("textDocument/hover", {})).rejects.toMatchObject({ code: -32600 });
    await editor.connection.sendNotification(ExitNotification.type);
    expect(await editor.exited()).toBe(0);
  });
});
