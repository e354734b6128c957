/**
 * An editor with its own project: it starts the language server as a process and talks to it
 * through the client library that editors use.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ClientCapabilities,
  type CompletionItem,
  CompletionRequest,
  createProtocolConnection,
  DefinitionRequest,
  type Diagnostic,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  DidSaveTextDocumentNotification,
  ExitNotification,
  type Hover,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  type Location,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  RegistrationRequest,
  ShowMessageNotification,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  TextDocument,
  type TextEdit,
  type WorkspaceEdit,
} from "vscode-languageserver-protocol/node";
import { tempFolder } from "../client/test-context.ts";
import { shareFirstUse } from "./first-use.ts";
import { BINARY } from "./sandbox.ts";

/** An editor with a project. */
export class Editor implements AsyncDisposable {
  readonly root: string;
  readonly child: ChildProcessWithoutNullStreams;
  readonly connection: ProtocolConnection;
  readonly registered: unknown[] = [];
  /** Messages that the server showed to the user. */
  readonly said: string[] = [];
  stderr = "";
  private readonly shown = new Map<string, Diagnostic[]>();
  private readonly texts = new Map<string, string>();
  private version = 1;
  private wake: () => void = () => undefined;

  /**
   * @param files the project, by path
   * @param argv the program that is the server
   */
  constructor(
    private readonly files: Readonly<Record<string, string>>,
    argv: readonly string[] = [BINARY, "lsp"],
  ) {
    this.root = realpathSync(tempFolder("svc-editor-"));
    for (const [path, text] of Object.entries(files)) this.write(path, text);
    const home = tempFolder();
    shareFirstUse(join(home, ".svc"));
    const [program = "", ...rest] = argv;
    this.child = spawn(program, rest, { cwd: home, env: { PATH: process.env.PATH, HOME: home } });
    this.child.stderr.on("data", (data) => {
      this.stderr += String(data);
    });
    this.connection = createProtocolConnection(new StreamMessageReader(this.child.stdout), new StreamMessageWriter(this.child.stdin));
    this.connection.onNotification(PublishDiagnosticsNotification.type, ({ uri, diagnostics }) => {
      this.shown.set(uri, diagnostics);
      this.wake();
    });
    this.connection.onNotification(ShowMessageNotification.type, ({ message }) => void this.said.push(message));
    this.connection.onRequest(RegistrationRequest.type, ({ registrations }) => void this.registered.push(...registrations));
    this.connection.listen();
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.root, path, ".."), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  uri(path: string): string {
    return Bun.pathToFileURL(join(this.root, path)).href;
  }

  /**
   * @param folders the folders that are open, relative to the root
   * @param abilities capabilities beside that of hearing of files that change
   */
  async start(folders: readonly string[] = ["."], abilities: ClientCapabilities = {}) {
    const answer = await this.connection.sendRequest(InitializeRequest.type, {
      processId: process.pid,
      rootUri: null,
      workspaceFolders: folders.map((name) => ({ uri: this.uri(name), name })),
      capabilities: { ...abilities, workspace: { didChangeWatchedFiles: { dynamicRegistration: true }, ...abilities.workspace } },
    });
    await this.connection.sendNotification(InitializedNotification.type, {});
    return answer;
  }

  async open(path: string, text = this.files[path] ?? ""): Promise<void> {
    this.texts.set(path, text);
    const languageId = path.endsWith(".sql") ? "sql" : "python";
    await this.connection.sendNotification(DidOpenTextDocumentNotification.type, {
      textDocument: { uri: this.uri(path), languageId, version: this.version++, text },
    });
  }

  async type(path: string, text: string): Promise<void> {
    this.texts.set(path, text);
    await this.connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument: { uri: this.uri(path), version: this.version++ },
      contentChanges: [{ text }],
    });
  }

  async save(path: string): Promise<void> {
    this.write(path, this.texts.get(path) ?? "");
    await this.connection.sendNotification(DidSaveTextDocumentNotification.type, { textDocument: { uri: this.uri(path) } });
  }

  /**
   * Types a text in which `|>` marks the cursor, and returns the cursor's document and position.
   */
  async at(path: string, marked: string) {
    const offset = marked.indexOf("|>");
    const text = marked.replace("|>", "");
    await this.type(path, text);
    const lines = text.slice(0, offset).split("\n");
    return { textDocument: { uri: this.uri(path) }, position: { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 } };
  }

  async complete(path: string, marked: string): Promise<CompletionItem[]> {
    return ((await this.connection.sendRequest(CompletionRequest.type, await this.at(path, marked))) ?? []) as CompletionItem[];
  }

  async labels(path: string, marked: string): Promise<string[]> {
    return (await this.complete(path, marked)).map(({ label }) => label);
  }

  async hover(path: string, marked: string): Promise<string> {
    const hover = (await this.connection.sendRequest(HoverRequest.type, await this.at(path, marked))) as Hover | null;
    return hover === null ? "" : (hover.contents as { value: string }).value;
  }

  /** The definition of a name, as the text of its range. */
  async define(path: string, marked: string): Promise<string> {
    const found = (await this.connection.sendRequest(DefinitionRequest.type, await this.at(path, marked))) as Location | null;
    if (!found) return "";
    return this.shownAt([found].flat()[0] as Location);
  }

  /** A range of one line of a file: `path: text`. */
  shownAt({ uri, range }: Location): string {
    const file = this.pathOf(uri);
    const line = this.text(file).split("\n")[range.start.line] ?? "";
    return `${file}: ${line.slice(range.start.character, range.end.character)}`;
  }

  pathOf(uri: string): string {
    return Bun.fileURLToPath(uri).slice(this.root.length + 1);
  }

  /** Text of a file as it stands in the editor, else on the disk. */
  text(path: string): string {
    return this.texts.get(path) ?? readFileSync(join(this.root, path), "utf8");
  }

  /** The texts that an edit changes, by path, after the edit. */
  edited({ changes = {}, documentChanges = [] }: WorkspaceEdit): Readonly<Record<string, string>> {
    const byDocument = documentChanges.flatMap((one) => ("edits" in one ? [[one.textDocument.uri, one.edits as TextEdit[]] as const] : []));
    return Object.fromEntries(
      [...Object.entries(changes), ...byDocument].map(([uri, edits]) => {
        const path = this.pathOf(uri);
        return [path, TextDocument.applyEdits(TextDocument.create(uri, "", 0, this.text(path)), edits)];
      }),
    );
  }

  /** Waits until the findings of a file are as wanted. */
  async findings(path: string, wanted: (found: Diagnostic[]) => boolean): Promise<Diagnostic[]> {
    const until = Date.now() + 20_000;
    for (;;) {
      const found = this.shown.get(this.uri(path));
      if (found && wanted(found)) return found;
      if (Date.now() > until) throw new Error(`findings of ${path} never came: ${JSON.stringify(found)}`);
      await Promise.race([new Promise<void>((resolve) => (this.wake = resolve)), Bun.sleep(200)]);
    }
  }

  /** The findings last shown of a file. */
  last(path: string): Diagnostic[] | undefined {
    return this.shown.get(this.uri(path));
  }

  /** Ends it in order; resolves with the exit code. */
  async stop(): Promise<number | null> {
    await this.connection.sendRequest(ShutdownRequest.type);
    await this.connection.sendNotification(ExitNotification.type);
    return this.exited();
  }

  exited(): Promise<number | null> {
    const { child } = this;
    return child.exitCode !== null
      ? Promise.resolve(child.exitCode)
      : new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.dispose();
    if (this.child.exitCode === null) this.child.kill("SIGKILL");
    await this.exited();
  }
}
