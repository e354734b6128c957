/** The language server: one project, live findings, completion, hover and definitions. It speaks through `send` and hears through `receive`. */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { isError } from "../../domain/finding.ts";
import { type LspPosition, lspDiagnostic } from "../../output/diagnostic.ts";
import { type LintInput, type ReadFile, readProjectText } from "../lint/lint.ts";
import type { Project } from "../project.ts";
import type { Validation } from "../validate.ts";
import { completionsAt, definitionAt, hoverAt, type Place } from "./answers.ts";
import { type AnalyzedFindings, currentFindings } from "./findings.ts";
import { ProjectTexts } from "./project-texts.ts";
import { createRpc, type Handler, RPC_ERRORS, type RpcConnection, RpcError } from "./rpc.ts";
import { offsetOf } from "./text-position.ts";
import { Vocabulary } from "./vocabulary.ts";

/** What the server works with. */
export interface LanguageServerDeps {
  readonly version: string;
  send(message: unknown): void;
  /** The project around a folder; rejects when there is none. */
  openProject(dir: string): Promise<Project>;
  /** Imports the project's code; rejects when the signal is aborted. */
  analyze(project: Project, signal: AbortSignal): Promise<Validation>;
  /** Text of a file by its absolute path. */
  readText(path: string): Promise<string | undefined>;
  /** Folder to look for the project in when the editor names none. */
  readonly dir: string;
  /** Environment whose settings hold. */
  readonly environment: string | undefined;
  /** A line for the log. */
  log(text: string): void;
}

/** Quiet time after a change before the text is read. */
const DEBOUNCE_MS = 150;
/** Changes come as the whole text. */
const WHOLE_TEXT = 1;

type Params = Readonly<Record<string, unknown>>;

/** A running language server. */
export class LanguageServer {
  private readonly rpc: RpcConnection;
  private readonly stopped = new AbortController();
  private state: "new" | "running" | "shut down" = "new";
  private texts: ProjectTexts | undefined;
  private written: { readonly diagnostics: AnalyzedFindings["written"]; readonly graph: Graph } | undefined;
  private vocabulary: Vocabulary | undefined;
  private analyzed: AnalyzedFindings | undefined;
  private graph: Graph | undefined;
  private readonly known = new Map<string, ReadFile>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private analysis: Promise<void> | undefined;
  private analyzeAgain = false;
  /** Whether the editor tells of files that change on the disk. */
  private watchesFiles = false;
  private readonly published = new Map<string, string>();
  /** Whether the editor asked to end (`exit`), and whether it did so in order. */
  ended: { readonly inOrder: boolean } | undefined;

  /** Folder that the project is looked for in. */
  private dir: string;

  constructor(private readonly deps: LanguageServerDeps) {
    this.dir = deps.dir;
    this.rpc = createRpc(
      deps.send,
      (method) => this.find(method),
      (error) => deps.log(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    );
  }

  /** Takes one message; resolves when it was dealt with. */
  receive(text: string): Promise<void> {
    return this.rpc.receive(text);
  }

  /** Stops everything that runs. */
  async stop(): Promise<void> {
    clearTimeout(this.timer);
    this.stopped.abort(new Error("the language server ends"));
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
      clearTimeout(this.timer);
    },
    "textDocument/didOpen": (params) => this.change(params.textDocument as DocumentParams, (params.textDocument as DocumentParams).text),
    "textDocument/didChange": (params) => {
      const changes = params.contentChanges as readonly { text: string }[] | undefined;
      return this.change(params.textDocument as DocumentParams, changes?.at(-1)?.text);
    },
    "textDocument/didClose": (params) => this.close(params),
    "textDocument/didSave": () => this.reread(),
    "workspace/didChangeWatchedFiles": () => this.reread(),
    "textDocument/completion": async (params) => completionsAt(await this.at(params)),
    "textDocument/hover": async (params) => hoverAt(await this.at(params)),
    "textDocument/definition": async (params) => definitionAt(await this.at(params), (path) => this.uriOf(path)),
    "$/cancelRequest": () => undefined,
    "$/setTrace": () => undefined,
  };

  private async initialize(params: Params): Promise<unknown> {
    this.state = "running";
    const folders = params.workspaceFolders as readonly { uri: string }[] | null | undefined;
    const uri = folders?.[0]?.uri ?? (params.rootUri as string | null | undefined);
    if (typeof uri === "string" && uri.startsWith("file:")) this.dir = Bun.fileURLToPath(uri);
    const workspace = (params.capabilities as { workspace?: { didChangeWatchedFiles?: { dynamicRegistration?: boolean } } } | undefined)
      ?.workspace;
    this.watchesFiles = workspace?.didChangeWatchedFiles?.dynamicRegistration === true;
    await this.load(this.dir);
    return {
      capabilities: {
        positionEncoding: "utf-16",
        textDocumentSync: { openClose: true, change: WHOLE_TEXT, save: true },
        completionProvider: { triggerCharacters: [".", "{"] },
        hoverProvider: true,
        definitionProvider: true,
      },
      serverInfo: { name: "svc", version: this.deps.version },
    };
  }

  private async load(dir: string): Promise<void> {
    try {
      const project = await this.deps.openProject(dir);
      this.texts = new ProjectTexts(project, this.deps.environment, (path) => this.deps.readText(path));
      await this.texts.reload();
      this.read();
    } catch (error) {
      this.tell(error);
    }
  }

  private initialized(_params: Params): void {
    if (this.watchesFiles) {
      const watchers = ["**/*.py", "**/*.svc.sql", "**/svc.{yaml,yml}"].map((globPattern) => ({ globPattern }));
      const registration = { id: "svc-files", method: "workspace/didChangeWatchedFiles", registerOptions: { watchers } };
      this.rpc.request("client/registerCapability", { registrations: [registration] });
    }
    if (!this.texts) return;
    this.publish();
    this.startAnalysis();
  }

  private async change({ uri, version }: DocumentParams, text: string | undefined): Promise<void> {
    const path = await this.texts?.pathOf(uri);
    if (path === undefined || text === undefined) return;
    this.texts?.open(path, { uri, version, text });
    this.written = undefined;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.readAndPublish(), DEBOUNCE_MS);
  }

  private async close(params: Params): Promise<void> {
    const path = await this.texts?.pathOf((params.textDocument as DocumentParams).uri);
    if (path === undefined) return;
    this.texts?.close(path);
    await this.reread();
  }

  /** After a change on the disk: reads it all, and lets the analyzer look. */
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
        this.tell(error);
      }
    this.readAndPublish();
    this.startAnalysis();
  }

  /** Shows what is wrong with the project as a whole. */
  private tell(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.deps.log(message);
    this.rpc.notify("window/showMessage", { type: 2, message });
  }

  private readAndPublish(): void {
    this.read();
    this.publish();
  }

  /** Reads the text as it stands. What cannot be parsed keeps the names that it had. */
  private read(): void {
    clearTimeout(this.timer);
    const { texts } = this;
    if (!texts) return;
    const before = this.vocabulary;
    const read = this.readText(texts.project, texts.files());
    this.written = read;
    if (before && read.diagnostics.some(({ code }) => code === 101)) {
      const now = new Set(read.graph.featureSets.map(({ namespace }) => namespace));
      read.graph.featureSets.push(...[...before.sets.values()].filter(({ namespace }) => !now.has(namespace)));
    }
    this.vocabulary = new Vocabulary(read.graph, this.graph, (path) => texts.text(path));
  }

  private readText(project: Project, files: LintInput["files"]): ReturnType<typeof readProjectText> {
    const runtime = this.runtimeOf(project);
    return readProjectText({ files, policy: project.validation, skipDrivers: true, known: this.known, ...(runtime ? { runtime } : {}) });
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
        if (!this.stopped.signal.aborted) this.deps.log(error instanceof Error ? error.message : String(error));
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
    if (!texts || !written) return;
    const { root } = texts.project;
    const config = texts.project.configPath.slice(root.length + 1);
    const byPath = new Map<string, unknown[]>([...texts.openPaths].map((path) => [path, []]));
    for (const path of this.published.keys()) byPath.set(path, []);
    for (const diagnostic of currentFindings(written.diagnostics, this.analyzed, (path) => texts.text(path))) {
      const { uri: _, ...shown } = lspDiagnostic(diagnostic, (path) => texts.text(path), root);
      const path = diagnostic.span?.file ?? config;
      byPath.set(path, [...(byPath.get(path) ?? []), shown]);
    }
    for (const [path, diagnostics] of byPath) {
      const params = { uri: this.uriOf(path), version: texts.opened(path)?.version, diagnostics };
      const said = JSON.stringify(params);
      if (this.published.get(path) === said) continue;
      this.published.set(path, said);
      this.rpc.notify("textDocument/publishDiagnostics", params);
    }
  }

  /** How the editor calls a file. */
  private uriOf(path: string): string {
    return this.texts?.opened(path)?.uri ?? Bun.pathToFileURL(`${this.texts?.project.root}/${path}`).href;
  }

  /** The document that a request is about, read as it stands. */
  private async at(params: Params): Promise<Place | undefined> {
    const { texts } = this;
    const path = await texts?.pathOf((params.textDocument as DocumentParams).uri);
    const text = path === undefined ? undefined : texts?.text(path);
    if (path === undefined || text === undefined) return undefined;
    if (!this.written) this.readAndPublish();
    const { vocabulary } = this;
    return vocabulary && { vocabulary, path, text, offset: offsetOf(text, params.position as LspPosition) };
  }
}

interface DocumentParams {
  readonly uri: string;
  readonly version?: number;
  readonly text?: string;
}
