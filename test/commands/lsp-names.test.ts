/** `svc lsp` and the names of a project: references, renaming, symbols, quick fixes. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  type ClientCapabilities,
  type CodeAction,
  CodeActionRequest,
  DefinitionRequest,
  type Diagnostic,
  DocumentHighlightRequest,
  type DocumentSymbol,
  DocumentSymbolRequest,
  type Location,
  PrepareRenameRequest,
  ReferencesRequest,
  RenameRequest,
  type SymbolInformation,
  type WorkspaceEdit,
  WorkspaceSymbolRequest,
} from "vscode-languageserver-protocol/node";
import { Editor } from "../harness/editor.ts";

setDefaultTimeout(300_000);

const MODELS = `from svc import SQLiteSource
from svc.features import _, features

main = SQLiteSource(name="main", path="app.db")


@features
class User:
    id: int
    # 😀 what is left
    amount: int
    double: int = _.amount * 2
`;
const FILES: Readonly<Record<string, string>> = {
  "svc.yaml": "project: editor\n",
  "models.py": MODELS,
  "resolvers.py": `from models import User as 人
from svc import online


@online
def label(id: 人.id, 額: 人.amount, last: 人.amount = 1) -> 人.double:
    return id
`,
  "user.svc.sql": "-- resolves: User\n-- source: main\nselect id, amount from users where id = ${user.id}\n",
  "tests/test_user.py": 'from models import User\n\nassert User(amount=1) != "user.amount"\n',
};
const ABILITIES: ClientCapabilities = {
  textDocument: {
    rename: { prepareSupport: true },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix"] } } },
  },
  workspace: { workspaceEdit: { documentChanges: true } },
};

async function open(files: Readonly<Record<string, string>> = FILES, abilities = ABILITIES): Promise<Editor> {
  const editor = new Editor(files);
  await editor.start(["."], abilities);
  return editor;
}

async function references(editor: Editor, path: string, marked: string, includeDeclaration = true): Promise<string[]> {
  const at = { ...(await editor.at(path, marked)), context: { includeDeclaration } };
  const found = (await editor.connection.sendRequest(ReferencesRequest.type, at)) as Location[] | null;
  return (found ?? []).map((one) => `${editor.shownAt(one)} ${one.range.start.line}`);
}

/** What an error says to the user. */
function refusal(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "",
    (error: { code: number; message: string }) => `${error.code} ${error.message}`,
  );
}

test("capabilities are those that act, and as the editor can take them", async () => {
  const own = { referencesProvider: true, documentHighlightProvider: true, workspaceSymbolProvider: true };
  await using full = new Editor(FILES);
  const { capabilities } = await full.start(["."], ABILITIES);
  expect(capabilities).toMatchObject({
    ...own,
    renameProvider: { prepareProvider: true },
    documentSymbolProvider: true,
    codeActionProvider: { codeActionKinds: ["quickfix"] },
  });
  await using plain = new Editor(FILES);
  const few = (await plain.start()).capabilities;
  expect(few).toMatchObject({ ...own, renameProvider: true, documentSymbolProvider: false, codeActionProvider: false });
  for (const name of Object.keys(capabilities).filter((key) => key.endsWith("Provider") && key !== "completionProvider")) {
    const method = `textDocument/${name.replace("Provider", "").replace("workspaceSymbol", "documentSymbol")}`;
    expect(await refusal(full.connection.sendRequest(method, {}))).toMatch(/^-32602 /);
  }
});

describe("references", () => {
  test("over Python, SQL and tests, from each of them, in texts that are not saved", async () => {
    await using editor = await open();
    const all = [
      "models.py: amount 10",
      "models.py: amount 11",
      "resolvers.py: amount 5",
      "resolvers.py: amount 5",
      "tests/test_user.py: amount 2",
      "tests/test_user.py: amount 2",
      "user.svc.sql: amount 2",
    ];
    for (const path of ["models.py", "resolvers.py", "user.svc.sql", "tests/test_user.py"])
      expect(await references(editor, path, (FILES[path] as string).replace("amount", "am|>ount"))).toEqual(all);
    expect(await references(editor, "models.py", MODELS.replace("amount", "am|>ount"), false)).toEqual(all.slice(1));
    const typed = `${FILES["resolvers.py"]}\n\nprint(人.amount)\n`;
    expect(await references(editor, "resolvers.py", typed.replace("人.amount)\n", "人.am|>ount)\n"))).toContain("resolvers.py: amount 9");
    expect(await references(editor, "resolvers.py", typed.replace("return id", "return i|>d"))).toEqual([]);
  });

  test("highlights and definitions, of resolvers and of what `_` has too", async () => {
    await using editor = await open({ ...FILES, "more.py": "from resolvers import label\n\nlabel(1)\n" });
    const at = await editor.at("models.py", MODELS.replace("_.amount", "_.am|>ount"));
    const found = (await editor.connection.sendRequest(DocumentHighlightRequest.type, at)) ?? [];
    expect(found.map(({ kind, range }) => [kind, range.start.line])).toEqual([
      [3, 10],
      [2, 11],
    ]);
    expect(await editor.define("models.py", MODELS.replace("_.amount", "_.am|>ount"))).toBe("models.py: amount");
    expect(await editor.define("more.py", "from resolvers import label\n\nla|>bel(1)\n")).toBe("resolvers.py: label");
    expect(await editor.connection.sendRequest(DefinitionRequest.type, { ...at, position: { line: 0, character: 0 } })).toBeNull();
  });
});

describe("renaming", () => {
  const rename = async (editor: Editor, path: string, marked: string, newName: string) =>
    (await editor.connection.sendRequest(RenameRequest.type, { ...(await editor.at(path, marked)), newName })) as WorkspaceEdit | null;

  test("is asked for, previewed, done, and lint says nothing; columns behind emoji and CJK are counted rightly", async () => {
    await using editor = await open();
    const resolvers = `${FILES["resolvers.py"]}\n\n"😀人", 人.amount\n`;
    await editor.open("resolvers.py", resolvers);
    const at = await editor.at("models.py", MODELS.replace("amount", "am|>ount"));
    const { range, placeholder } = (await editor.connection.sendRequest(PrepareRenameRequest.type, at)) as {
      range: Location["range"];
      placeholder: string;
    };
    expect([placeholder, range.start]).toEqual(["amount", { line: 10, character: 4 }]);
    const edit = (await rename(editor, "models.py", MODELS.replace("amount", "am|>ount"), "残額")) as WorkspaceEdit;
    expect(edit.documentChanges?.map((one) => "edits" in one && one.textDocument.version !== null)).toEqual([true, true, false, false]);
    const texts = editor.edited(edit);
    expect(texts).toEqual({
      "models.py": MODELS.replace("amount: int", "残額: int").replace("_.amount", "_.残額"),
      "resolvers.py": resolvers.replaceAll("amount", "残額"),
      "tests/test_user.py": 'from models import User\n\nassert User(残額=1) != "user.残額"\n',
      "user.svc.sql": (FILES["user.svc.sql"] as string).replace("amount", "amount as 残額"),
    });
    for (const [path, text] of Object.entries(texts)) await editor.open(path, text);
    expect(await references(editor, "models.py", (texts["models.py"] as string).replace("残", "残|>"))).toHaveLength(8);
    for (const path of Object.keys(texts)) expect(editor.last(path) ?? []).toEqual([]);
    expect(await editor.stop()).toBe(0);
  });

  test("editors without versions get edits by file", async () => {
    await using editor = await open(FILES, {});
    const edit = await rename(editor, "models.py", MODELS.replace("amount", "am|>ount"), "rest");
    expect(Object.keys(edit?.changes ?? {}).map((uri) => editor.pathOf(uri))).toEqual([
      "models.py",
      "resolvers.py",
      "tests/test_user.py",
      "user.svc.sql",
    ]);
  });

  test("what is no name of the project has none to change, and what cannot be changed says why", async () => {
    await using editor = await open();
    const resolvers = FILES["resolvers.py"] as string;
    expect(await rename(editor, "resolvers.py", resolvers.replace("return id", "return i|>d"), "x")).toBeNull();
    expect(await rename(editor, "resolvers.py", resolvers.replace("import online", "import on|>line"), "x")).toBeNull();
    expect(await refusal(rename(editor, "models.py", MODELS.replace("amount", "am|>ount"), "double"))).toBe(
      "-32803 User has a feature 'double' already: it is defined in models.py",
    );
    const alias = await editor.at("resolvers.py", resolvers.replace("as 人", "as |>人"));
    expect(await refusal(editor.connection.sendRequest(PrepareRenameRequest.type, alias))).toStartWith("-32803 '人' is another name");
    expect(await refusal(editor.connection.sendRequest(RenameRequest.type, alias as never))).toBe("-32602 newName is no text");
  });
});

describe("quick fixes", () => {
  const fixes = async (editor: Editor, path: string, found: Diagnostic, only?: string[]): Promise<CodeAction[]> => {
    const context = { diagnostics: [], ...(only ? { only } : {}) };
    const asked = { textDocument: { uri: editor.uri(path) }, range: found.range, context };
    return ((await editor.connection.sendRequest(CodeActionRequest.type, asked)) ?? []) as CodeAction[];
  };

  test.each([
    ["a feature", "resolvers.py", "人.amount,", "人.amuont,", 142, ["amount"]],
    ["a column, behind an emoji", "user.svc.sql", "select id, amount", "select /*😀*/ id, amout", 153, ["amount"]],
    ["a placeholder", "user.svc.sql", "${user.id}", "${usr.id}", 155, ["${user.id}"]],
    ["a class", "user.svc.sql", "resolves: User", "resolves: Usre", 151, ["User"]],
    ["a key of the header", "user.svc.sql", "-- source", "-- sorce", 152, ["source"]],
  ] as [string, string, string, string, number, string[]][])("%s", async (_, path, right, wrong, code, names) => {
    await using editor = await open();
    await editor.open(path, (FILES[path] as string).replace(right, wrong));
    const found = (await editor.findings(path, (all) => all.some((one) => one.code === code))).find(
      (one) => one.code === code,
    ) as Diagnostic;
    const actions = await fixes(editor, path, found);
    expect(actions.map(({ title }) => title)).toEqual(names.map((name) => `Change to '${name}'`));
    expect(actions[0]).toMatchObject({ kind: "quickfix", isPreferred: names.length === 1, diagnostics: [found] });
    const fixed = editor.edited(actions[0]?.edit as WorkspaceEdit);
    expect(Object.keys(fixed)).toEqual([path]);
    expect(await fixes(editor, path, found, ["refactor"])).toEqual([]);
    expect(await fixes(editor, path, found, ["quickfix"])).toHaveLength(names.length);
    await editor.type(path, fixed[path] as string);
    await editor.findings(path, (all) => !all.some((one) => one.code === code));
  });

  test("what running the code shows, as long as the text is that which was run", async () => {
    const wrong = MODELS.replace("_.amount", "_.amout");
    await using editor = await open({ ...FILES, "models.py": wrong });
    const [found] = await editor.findings("models.py", (all) => all.some(({ code }) => code === 130));
    const [action, ...more] = await fixes(editor, "models.py", found as Diagnostic);
    expect(more).toEqual([]);
    expect(editor.edited(action?.edit as WorkspaceEdit)).toEqual({ "models.py": MODELS });
    await editor.open("models.py", `# typed since\n${wrong}`);
    expect(await fixes(editor, "models.py", found as Diagnostic)).toEqual([]);
  });

  test("of several names none is preferred", async () => {
    const resolvers = (FILES["resolvers.py"] as string).replace("人.amount,", "人.amountt,").replace("double", "amounts");
    await using editor = await open({ ...FILES, "models.py": MODELS.replace("double", "amounts"), "resolvers.py": resolvers });
    const [found] = await editor.findings("resolvers.py", (all) => all.some(({ code }) => code === 142));
    expect((await fixes(editor, "resolvers.py", found as Diagnostic)).map(({ isPreferred, title }) => [title, isPreferred])).toEqual([
      ["Change to 'amount'", false],
      ["Change to 'amounts'", false],
    ]);
  });
});

describe("symbols", () => {
  test("of a document, as a tree", async () => {
    await using editor = await open();
    const symbols = async (path: string) =>
      (await editor.connection.sendRequest(DocumentSymbolRequest.type, { textDocument: { uri: editor.uri(path) } })) as DocumentSymbol[];
    const shown = (list: DocumentSymbol[], depth = ""): string[] =>
      list.flatMap((one) => [
        `${depth}${one.kind} ${one.name} (${one.detail}) ${one.range.start.line}-${one.range.end.line} at ${one.selectionRange.start.line}:${one.selectionRange.start.character}`,
        ...shown(one.children ?? [], `${depth}- `),
      ]);
    expect(shown(await symbols("models.py"))).toEqual([
      "5 User (user) 6-11 at 7:6",
      "- 8 id (int) 8-8 at 8:4",
      "- 8 amount (int) 10-10 at 10:4",
      "- 8 double (int) 11-11 at 11:4",
    ]);
    expect(shown(await symbols("resolvers.py"))).toEqual(["12 label (resolvers.label) 4-6 at 5:4"]);
    expect(shown(await symbols("user.svc.sql"))).toEqual([
      "12 user (User) 0-3 at 0:0",
      "- 8 id () 2-2 at 2:7",
      "- 8 amount () 2-2 at 2:11",
    ]);
    expect(await symbols("nowhere.py")).toBeNull();
  });

  test("of the workspace, by characters in their order", async () => {
    await using editor = await open();
    const find = async (query: string) =>
      ((await editor.connection.sendRequest(WorkspaceSymbolRequest.type, { query })) as SymbolInformation[]).map(
        ({ containerName, location, name }) => `${containerName} ${name} ${editor.pathOf(location.uri)}:${location.range.start.line}`,
      );
    expect(await find("")).toHaveLength(6);
    expect(await find("u.amt")).toEqual(["User amount models.py:10"]);
    expect(await find("USER.I")).toEqual(["User id models.py:8"]);
    expect(await find("lab")).toEqual(["resolvers label resolvers.py:5"]);
    expect(await find("(.*)+")).toEqual([]);
  });
});
