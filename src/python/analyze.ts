/**
 * The analysis of a source folder: runs the analyzer's process, turns its failures into findings,
 * and links the SQL files into the graph.
 */

import { type FileHandle, mkdir, mkdtemp, open, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Diagnostic, SpanSchema } from "../../gen/svc/v1/error_pb.ts";
import { type Graph, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { checkGraphExpressions } from "../domain/expressions/check.ts";
import { finding, isError, mergeFindings } from "../domain/finding.ts";
import { GraphEncoder } from "../domain/graph-bytes.ts";
import { checkGraph } from "../domain/graph-rules.ts";
import { settleStaleness } from "../domain/resolver-staleness.ts";
import { IMPORT_UNFINISHED } from "../domain/rules/loading.ts";
import { isPythonModule, isSqlFile } from "../domain/source-file.ts";
import { linkSqlFiles } from "../domain/sql/link.ts";
import { linkStatements } from "../domain/sql/link-statement.ts";
import type { ImportEffects } from "./analysis-cache.ts";
import { crashedAt, lastOutput } from "./crash.ts";
import { GraphReader } from "./read-graph.ts";
import { type RunResult, runProgram } from "./subprocess.ts";
import type { AnalyzeOptions } from "./toolchain.ts";
import { userCodeEnv } from "./user-code-env.ts";

/** Options of the analyzer's process. */
export interface AnalyzerOptions {
  /** Interpreter of the project's virtual environment. */
  readonly python: string;
  /** Folder that holds the package `svc`. */
  readonly sdkRoot: string;
  /** Private folder for the files between the two processes. */
  readonly scratchDir: string;
  /** Environment of this process; `userCodeEnv` selects the variables that user code sees. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** File of compiled modules, which the analyzer reads and updates. */
  readonly codeFile: string;
  /**
   * Whether the graph is without the translations of resolvers, which `encoder` has. Default false.
   */
  readonly withoutTranslations?: boolean;
}

/** A graph, what encodes it, and the effects of its import. */
export interface AnalyzedProject {
  readonly graph: Graph;
  readonly encoder: GraphEncoder;
  /** Undefined when the import did not succeed. */
  readonly effects: ImportEffects | undefined;
}

/** Time limit of an import unless the caller sets one. */
const DEFAULT_TIMEOUT_MS = 60_000;
/** Pause between looks at how far the analyzer's output has come, and bytes of it read at once. */
const FOLLOW_MS = 10;
const PIECE_BYTES = 256 * 1024;
/** Most lines of stderr in a finding. */
const SHOWN_LINES = 8;

/**
 * Imports the project in a process of its own, links the SQL files into its graph and checks the
 * result. Whatever user code does, the result is a graph with findings: a process that hangs, exits
 * or crashes is finding 103.
 */
export async function analyzeProject(options: AnalyzeOptions, analyzer: AnalyzerOptions): Promise<AnalyzedProject> {
  const root = await realpath(options.root);
  const { graph, encoder, effects } = await importProject(root, options, analyzer);
  const sqlPaths = options.files.filter(isSqlFile);
  const sqlFiles = await Promise.all(sqlPaths.map(async (path) => ({ path, text: await readFile(join(root, path), "utf8") })));
  const stated = linkStatements(graph);
  graph.resolvers = stated.resolvers;
  const linked = linkSqlFiles(sqlFiles, graph);
  graph.resolvers = [...graph.resolvers, ...linked.resolvers].sort((a, b) => (a.fqn < b.fqn ? -1 : 1));
  const settled = settleStaleness(graph);
  graph.featureSets = settled.featureSets;
  graph.diagnostics = mergeFindings(graph.diagnostics, stated.diagnostics, linked.diagnostics, settled.diagnostics);
  if (!graph.diagnostics.some(isError))
    graph.diagnostics = mergeFindings(graph.diagnostics, checkGraphExpressions(graph), checkGraph(graph));
  return { graph, encoder, effects };
}

async function importProject(root: string, options: AnalyzeOptions, analyzer: AnalyzerOptions): Promise<AnalyzedProject> {
  await mkdir(dirname(analyzer.codeFile), { recursive: true, mode: 0o700 }).catch(() => undefined);
  await mkdir(analyzer.scratchDir, { recursive: true, mode: 0o700 });
  const scratch = await mkdtemp(join(analyzer.scratchDir, "analysis-"));
  try {
    const [out, effects] = [join(scratch, "graph.json"), join(scratch, "effects.json")];
    const files = join(scratch, "files.json");
    await writeFile(files, JSON.stringify(options.files.filter(isPythonModule)), { mode: 0o600 });
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const boot = join(analyzer.sdkRoot, "svc", "_boot.py");
    const flags = ["-I", "-B", "-X", "utf8", "-X", "faulthandler"];
    const argv = [analyzer.python, ...flags, boot, "analyze", "--root", root, "--files", files, "--out", out];
    argv.push("--effects", effects, "--code", analyzer.codeFile);
    const running = runProgram(argv, {
      cwd: root,
      env: {
        ...userCodeEnv(analyzer.env),
        TARGET_ROOT: root,
        ...(options.environmentName ? { SVC_ENVIRONMENT_NAME: options.environmentName } : {}),
      },
      timeoutMs,
      timeoutSignal: "SIGABRT",
      heldOpen: true,
      ...(options.signal && { signal: options.signal }),
    });
    options.onStart?.();
    const reader = new GraphReader(analyzer.withoutTranslations);
    const [result] = await Promise.all([running, followFile(out, running, (bytes) => reader.add(bytes))]);
    const graph = result.exitCode === 0 ? reader.graph() : undefined;
    if (graph === undefined) return { graph: unfinished(result, root, timeoutMs), encoder: new GraphEncoder(), effects: undefined };
    return { graph, encoder: reader.encoder, effects: JSON.parse(await readFile(effects, "utf8")) as ImportEffects };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Reads a file while a program makes it, until the program has ended, and then to its end. */
async function followFile(path: string, program: Promise<unknown>, add: (bytes: Uint8Array) => void): Promise<void> {
  let isOver = false;
  const over = program
    .catch(() => undefined)
    .then(() => {
      isOver = true;
    });
  const bytes = new Uint8Array(PIECE_BYTES);
  let file: FileHandle | undefined;
  try {
    for (;;) {
      const isLast = isOver;
      file ??= await open(path).catch(() => undefined);
      for (let read = PIECE_BYTES; file && read > 0; ) {
        read = (await file.read(bytes, 0, PIECE_BYTES, null)).bytesRead;
        if (read > 0) add(bytes.subarray(0, read));
      }
      if (isLast) return;
      await Promise.race([Bun.sleep(FOLLOW_MS), over]);
    }
  } finally {
    await file?.close();
  }
}

/** A graph with finding 103 and nothing else. */
function unfinished(result: RunResult, root: string, timeoutMs: number): Graph {
  const frame = crashedAt(result.stderr, root);
  const position = frame ? ` at ${frame.file}:${frame.line} in ${frame.function}` : "";
  let what: string;
  if (result.timedOut) what = `importing the project took longer than ${timeoutMs / 1000} s; it was stopped${position}`;
  else if (result.signal) what = `importing the project was killed by ${result.signal}${position}`;
  else what = `importing the project ended the interpreter with exit code ${result.exitCode}`;
  const output = lastOutput(result.stderr, SHOWN_LINES).map((line) => `  ${line}`);
  const message = [output.length > 0 ? `${what}. Its last lines:` : what, ...output].join("\n");
  return create(GraphSchema, { diagnostics: [finding103(message, frame)] });
}

function finding103(message: string, frame: { file: string; line: number } | undefined): Diagnostic {
  const span = frame && create(SpanSchema, { file: frame.file, line: frame.line, column: 1, endLine: frame.line, endColumn: 1 });
  return finding(IMPORT_UNFINISHED.unfinished({ problem: message }), span, {
    hint: "Code at the top level of a module runs at every deployment; move slow or failing work into a resolver.",
  });
}
