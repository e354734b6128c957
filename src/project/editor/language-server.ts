/**
 * The language server of one project: live findings, completion, hover, references, renaming.
 * Messages leave through `send` and arrive through `receive`.
 */

import { dirname } from "node:path";
import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import { isError } from "../../domain/finding.ts";
import { INVALID_SYNTAX } from "../../domain/rules/loading.ts";
import type { SourceText } from "../../output/diagnostic.ts";
import { type LintInput, type ProjectText, type ReadFile, readProjectText } from "../lint/lint.ts";
import type { Project } from "../project.ts";
import { completionsAt, type DocumentPosition, definitionAt, hoverAt } from "./answers.ts";
import { Debouncer } from "./debouncer.ts";
import { type EditorAbilities, editorAbilities } from "./editor-abilities.ts";
import { type AnalyzedFindings, currentFindings } from "./findings.ts";
import { Occurrences } from "./occurrences.ts";
import { documentSymbols, workspaceSymbols } from "./outline.ts";
import {
  changedText,
  type DocumentParams,
  documentOf,
  includesDefinition,
  type Params,
  positionOf,
  rangeIn,
  rootFolders,
  textIn,
} from "./params.ts";
import { filePath, ProjectTexts } from "./project-texts.ts";
import { Publisher } from "./publisher.ts";
import { QUICK_FIX, quickFixes } from "./quick-fix.ts";
import { definitionsOf, highlightsOf, referencesOf, renamableAt } from "./references.ts";
import { RenameRefused, renameEdits } from "./rename.ts";
import { createRpc, type Handler, RPC_ERRORS, type RpcConnection, RpcError } from "./rpc.ts";
import type { Occurrence } from "./symbol.ts";
import { offsetOf } from "./text-position.ts";
import { Vocabulary } from "./vocabulary.ts";
import { workspaceEdit } from "./workspace-edit.ts";

/** A project as its imported code shows it. */
export interface Analysis {
  readonly project: Project;
  /** Undefined when Python could not be run. */
  readonly graph: Graph | undefined;
  readonly diagnostics: readonly Diagnostic[];
  /** Text of the files that were analyzed. */
  readonly source: SourceText;
}

/** Dependencies of the server. */
export interface LanguageServerDeps {
  readonly version: string;
  send(message: unknown): void;
  /** The project around a folder; rejects when there is none. */
  openProject(dir: string): Promise<Project>;
  /** Imports the project's code; rejects when the signal is aborted. */
  analyze(project: Project, signal: AbortSignal): Promise<Analysis>;
  /** Text of a file by its absolute path. */
  readText(path: string): Promise<string | undefined>;
  /** Folder to look for the project in when the editor names none. */
  readonly dir: string;
  /** Environment whose settings apply. */
  readonly environment: string | undefined;
  /** A line for the log. */
  log(text: string): void;
}

/** Changes come as the whole text. */
const WHOLE_TEXT = 1;
/** Files whose changes on the disk count. */
const WATCHED = ["**/*.py", "**/*.svc.sql", "**/svc.{yaml,yml}"];
/** File operations in the editor; some editors report changes of files in no other way. */
const OPERATIONS = { filters: [{ scheme: "file", pattern: { glob: "**/*" } }] };

/** A running language server. */
export class LanguageServer {
  private readonly rpc: RpcConnection;
  private readonly stopped = new AbortController();
  private state: "new" | "running" | "shut down" = "new";
  private texts: ProjectTexts | undefined;
  private written: ProjectText | undefined;
  /** Revision of the texts that `written` was read from. */
  private revision: number | undefined;
  /** Occurrences of names in the text that was read last; made on first use. */
  private occurrences: Occurrences | undefined;
  private vocabulary: Vocabulary | undefined;
  private analyzed: AnalyzedFindings | undefined;
  private graph: Graph | undefined;
  private readonly known = new Map<string, ReadFile>();
  private readonly debouncer = new Debouncer({
    readText: () => this.readAndPublish(),
    readDisk: () => this.reread(),
    failed: (error) => this.logError(error),
  });
  private analysis: Promise<void> | undefined;
  private analyzeAgain = false;
  private editor: EditorAbilities = editorAbilities({});
  private readonly publisher = new Publisher((params) => this.rpc.notify("textDocument/publishDiagnostics", params));
  /** Whether the editor asked to end (`exit`), and whether it did so in order. */
  ended: { readonly inOrder: boolean } | undefined;

  /** Folder that the project is looked for in. */
  private dir: string;

  constructor(private readonly deps: LanguageServerDeps) {
    this.dir = deps.dir;
    this.rpc = createRpc(
      deps.send,
      (method) => this.find(method),
      (error) => this.logError(error),
    );
  }

  private logError(error: unknown): void {
    this.deps.log(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  /** Takes one message; resolves when it was handled. */
  receive(text: string): Promise<void> {
    return this.rpc.receive(text);
  }

  /** Stops everything that runs. */
  async stop(): Promise<void> {
    this.stopped.abort(new Error("the language server ends"));
    await this.debouncer.stop();
    await this.analysis;
  }

  private find(method: string): Handler | undefined {
    if (method === "exit") {
      return () => {
        this.ended = { inOrder: this.state === "shut down" };
      };
    }
    if (method === "initialize" && this.state === "new") return (params) => this.initialize(params);
    if (this.state === "new") throw new RpcError(RPC_ERRORS.notInitialized, "the first request is `initialize`");
    if (this.state === "shut down") throw new RpcError(RPC_ERRORS.invalidRequest, "the server was shut down");
    return this.handlers[method];
  }

  private readonly handlers: Readonly<Record<string, Handler>> = {
    initialized: (params) => this.initialized(params),
    shutdown: () => {
      this.state = "shut down";
      return this.debouncer.stop().then(() => null);
    },
    "textDocument/didOpen": (params) => this.change(documentOf(params), documentOf(params).text),
    "textDocument/didChange": (params) => this.change(documentOf(params), changedText(params)),
    "textDocument/didClose": (params) => this.close(params),
    "textDocument/didSave": () => this.debouncer.schedule("disk"),
    "workspace/didChangeWatchedFiles": () => this.debouncer.schedule("disk"),
    "workspace/didCreateFiles": () => this.debouncer.schedule("disk"),
    "workspace/didRenameFiles": () => this.debouncer.schedule("disk"),
    "workspace/didDeleteFiles": () => this.debouncer.schedule("disk"),
    "textDocument/completion": async (params) => completionsAt(await this.at(params)),
    "textDocument/hover": (params) => this.hover(params),
    "textDocument/definition": async (params) =>
      definitionAt(await this.at(params), (path) => this.texts?.uriOf(path) ?? "") ??
      this.named(params, ({ texts, occurrences, at }) => definitionsOf(texts, occurrences, at)),
    "textDocument/references": (params) =>
      this.named(params, ({ texts, occurrences, at }) => referencesOf(texts, occurrences, at, includesDefinition(params))),
    "textDocument/documentHighlight": (params) => this.named(params, ({ texts, occurrences, at }) => highlightsOf(texts, occurrences, at)),
    "textDocument/prepareRename": (params) => this.named(params, ({ text, at }) => refusalAsRpcError(() => renamableAt(text, at))),
    "textDocument/rename": (params) => this.rename(params),
    "textDocument/codeAction": (params) => this.fix(params),
    "textDocument/documentSymbol": (params) =>
      this.document(params, ({ occurrences, path, text }) => documentSymbols(occurrences, path, text)),
    "workspace/symbol": (params) => this.symbols(textIn(params, "query")),
    "$/cancelRequest": () => undefined,
    "$/setTrace": () => undefined,
  };

  private async initialize(params: Params): Promise<unknown> {
    this.state = "running";
    this.editor = editorAbilities(params);
    await this.loadFirst(rootFolders(params));
    return {
      capabilities: {
        positionEncoding: "utf-16",
        textDocumentSync: { openClose: true, change: WHOLE_TEXT, save: true },
        completionProvider: { triggerCharacters: [".", "{"] },
        hoverProvider: true,
        definitionProvider: true,
        referencesProvider: true,
        documentHighlightProvider: true,
        renameProvider: this.editor.preparesRename ? { prepareProvider: true } : true,
        documentSymbolProvider: this.editor.takesTrees,
        workspaceSymbolProvider: true,
        codeActionProvider: this.editor.takesCodeActions ? { codeActionKinds: [QUICK_FIX] } : false,
        workspace: { fileOperations: { didCreate: OPERATIONS, didRename: OPERATIONS, didDelete: OPERATIONS } },
      },
      serverInfo: { name: "svc", version: this.deps.version },
    };
  }

  /**
   * Loads the project of the first folder that has one; the projects of the others are named as not
   * served.
   */
  private async loadFirst(folders: readonly string[]): Promise<void> {
    const found = await Promise.allSettled(folders.map((dir) => this.deps.openProject(dir)));
    const at = Math.max(
      0,
      found.findIndex(({ status }) => status === "fulfilled"),
    );
    this.dir = folders[at] ?? this.dir;
    await this.load(this.dir);
    const roots = new Set(found.flatMap((one) => (one.status === "fulfilled" ? [one.value.root] : [])));
    if (!this.texts || roots.size < 2) return;
    const { root } = this.texts.project;
    const others = [...roots].filter((other) => other !== root).join(", ");
    this.showError(new Error(`svc serves one project of this workspace, ${root}; for ${others} open a window of its own`));
  }

  private async load(dir: string): Promise<void> {
    try {
      const project = await this.deps.openProject(dir);
      this.texts = new ProjectTexts(project, this.deps.environment, (path) => this.deps.readText(path));
      await this.texts.reload();
      this.read();
    } catch (error) {
      this.showError(error);
    }
  }

  private initialized(_params: Params): void {
    if (this.editor.watchesFiles) {
      const watchers = WATCHED.map((globPattern) => ({ globPattern }));
      const registration = { id: "svc-files", method: "workspace/didChangeWatchedFiles", registerOptions: { watchers } };
      this.rpc.request("client/registerCapability", { registrations: [registration] });
    }
    if (!this.texts) return;
    this.publish();
    this.startAnalysis();
  }

  /** The project around a document, where the editor's folders lie above it. */
  private async loadAround(uri: string): Promise<void> {
    const path = filePath(uri);
    const project = path && (await this.deps.openProject(dirname(path)).catch(() => undefined));
    if (!project) return;
    this.dir = project.root;
    await this.load(this.dir);
    this.startAnalysis();
  }

  private async change({ uri, version }: DocumentParams, text: string | undefined): Promise<void> {
    if (!this.texts) await this.loadAround(uri);
    const path = await this.texts?.pathOf(uri);
    if (path === undefined || text === undefined) return;
    this.texts?.open(path, { uri, version, text });
    this.debouncer.schedule("text");
  }

  private async close(params: Params): Promise<void> {
    const path = await this.texts?.pathOf(documentOf(params).uri);
    if (path === undefined) return;
    this.texts?.close(path);
    this.debouncer.schedule("disk");
  }

  /** Reads everything again after a change on the disk, and starts an analysis. */
  private async reread(): Promise<void> {
    const { texts } = this;
    if (!texts) await this.load(this.dir);
    else
      try {
        const project = await this.deps.openProject(texts.project.root);
        if (this.runtimeOf(project) !== this.runtimeOf(texts.project)) this.known.clear();
        texts.project = project;
        await texts.reload();
      } catch (error) {
        this.showError(error);
      }
    this.readAndPublish();
    this.startAnalysis();
  }

  /** Shows an error that concerns the project as a whole. */
  private showError(error: unknown): void {
    const message = errorText(error);
    this.deps.log(message);
    this.rpc.notify("window/showMessage", { type: 2, message });
  }

  private readAndPublish(): void {
    this.read();
    this.publish();
  }

  /**
   * Reads the current text. While a file cannot be parsed, the classes of the last reading stay
   * known.
   */
  private read(): void {
    this.debouncer.textIsRead();
    const { texts } = this;
    if (!texts) return;
    const before = this.vocabulary;
    const read = this.readText(texts.project, texts.files());
    this.written = read;
    this.revision = texts.revision;
    this.occurrences = undefined;
    if (before && read.diagnostics.some(({ code }) => code === INVALID_SYNTAX.code)) {
      const now = new Set(read.graph.featureSets.map(({ namespace }) => namespace));
      read.graph.featureSets.push(...[...before.sets.values()].filter(({ namespace }) => !now.has(namespace)));
    }
    this.vocabulary = new Vocabulary(read.graph, this.graph, (path) => texts.text(path));
  }

  private readText(project: Project, files: LintInput["files"], known = this.known): ProjectText {
    const runtime = this.runtimeOf(project);
    return readProjectText({ files, policy: project.validation, skipDrivers: true, known, ...(runtime ? { runtime } : {}) });
  }

  private runtimeOf(project: Project): string | undefined {
    return project.environment(this.deps.environment).runtime;
  }

  private startAnalysis(): void {
    const { texts } = this;
    if (!texts || this.stopped.signal.aborted) return;
    this.analyzeAgain = this.analysis !== undefined;
    if (this.analysis) return;
    this.analysis = this.analyze(texts)
      .catch((error) => {
        if (!this.stopped.signal.aborted) this.deps.log(errorText(error));
      })
      .finally(() => {
        this.analysis = undefined;
        if (this.analyzeAgain) this.startAnalysis();
      });
  }

  private async analyze(texts: ProjectTexts): Promise<void> {
    const { diagnostics, graph, project, source } = await this.deps.analyze(texts.project, this.stopped.signal);
    const seen = texts.files().flatMap(({ path }): [string, string][] => {
      const text = source(path);
      return text === undefined ? [] : [[path, text]];
    });
    const files = seen.map(([path, text]) => ({ path, text }));
    const written = this.readText(project, files).diagnostics;
    this.analyzed = { diagnostics, written, texts: new Map(seen) };
    if (graph && !(this.graph && graph.diagnostics.some(isError))) this.graph = graph;
    this.readAndPublish();
  }

  private publish(): void {
    const { texts, written } = this;
    if (texts && written) this.publisher.publish(texts, this.findings(texts, written));
  }

  private findings(texts: ProjectTexts, written: ProjectText): ReturnType<typeof currentFindings> {
    return currentFindings(written.diagnostics, this.analyzed, (path) => texts.text(path));
  }

  /** The project with its current text; undefined when there is none. */
  private current(): Current | undefined {
    const { texts } = this;
    if (texts?.revision !== this.revision) this.readAndPublish();
    const { written } = this;
    if (!texts || !written) return undefined;
    this.occurrences ??= new Occurrences(written, texts.allFiles(), this.known);
    return { texts, written, occurrences: this.occurrences };
  }

  /** Answers about the document that a request is about; null when it is not of the project. */
  private async document<T>(params: Params, answer: (document: CurrentDocument) => T): Promise<T | null> {
    const path = await this.texts?.pathOf(documentOf(params).uri);
    const current = this.current();
    const text = path === undefined ? undefined : current?.texts.text(path);
    return current && path !== undefined && text !== undefined ? answer({ ...current, path, text }) : null;
  }

  /** Answers about the name that a request is about; null when there is none of the project's. */
  private named<T>(params: Params, answer: (name: CurrentDocument & { readonly at: Occurrence }) => T): Promise<T | null> {
    const position = positionOf(params);
    return this.document(params, (document) => {
      const at = document.occurrences.at(document.path, offsetOf(document.text, position));
      return at ? answer({ ...document, at }) : null;
    });
  }

  private rename(params: Params): Promise<unknown> {
    const newName = textIn(params, "newName");
    return this.named(params, ({ texts, written, occurrences, at }) => {
      const readText = (files: LintInput["files"]) => this.readText(texts.project, files, new Map(this.known));
      const edits = refusalAsRpcError(() => renameEdits(at, newName, { occurrences, read: written, readText }));
      return workspaceEdit(texts, edits, this.editor.takesVersions);
    });
  }

  private async hover(params: Params): Promise<unknown> {
    const position = await this.at(params);
    const { texts, written } = this;
    return hoverAt(position, texts && written ? this.findings(texts, written) : []);
  }

  private fix(params: Params): Promise<unknown> {
    const { start, end } = rangeIn(params);
    const { only } = (params.context ?? {}) as { only?: unknown };
    if (Array.isArray(only) && !only.some((kind) => kind === "" || kind === QUICK_FIX)) return Promise.resolve([]);
    return this.document(params, ({ texts, written, path, text }) => {
      const [from, to] = [offsetOf(text, start), offsetOf(text, end)];
      return quickFixes(texts, this.findings(texts, written), { path, from, to, byVersion: this.editor.takesVersions });
    });
  }

  private symbols(query: string): unknown[] {
    const current = this.current();
    return current ? workspaceSymbols(current.texts, current.occurrences, query) : [];
  }

  /** The position that a request is about, in the current text. */
  private async at(params: Params): Promise<DocumentPosition | undefined> {
    const { texts } = this;
    const path = await texts?.pathOf(documentOf(params).uri);
    const text = path === undefined ? undefined : texts?.text(path);
    if (path === undefined || text === undefined) return undefined;
    if (texts?.revision !== this.revision) this.readAndPublish();
    const { vocabulary } = this;
    return vocabulary && { vocabulary, path, text, offset: offsetOf(text, positionOf(params)) };
  }
}

/** A project with its current text. */
interface Current {
  readonly texts: ProjectTexts;
  readonly written: ProjectText;
  readonly occurrences: Occurrences;
}

/** One of its documents. */
interface CurrentDocument extends Current {
  /** Relative to the root. */
  readonly path: string;
  readonly text: string;
}

/** The result of `work`. Throws RpcError for a renaming that is refused. */
function refusalAsRpcError<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof RenameRefused ? new RpcError(RPC_ERRORS.requestFailed, error.message) : error;
  }
}
