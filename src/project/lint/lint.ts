/**
 * Lint without Python: the findings that the text of a project's files proves. It reads every
 * Python and SQL file, and reports nothing that only running the code could tell, so that every
 * error it reports is one.
 */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { finding, mergeFindings } from "../../domain/finding.ts";
import { LineMap } from "../../domain/line-map.ts";
import { settleStaleness } from "../../domain/resolver-staleness.ts";
import { INVALID_SYNTAX, NEWER_PYTHON } from "../../domain/rules/loading.ts";
import { isPythonModule, isSqlFile } from "../../domain/source-file.ts";
import { linkSqlFiles } from "../../domain/sql/link.ts";
import type { MetadataPolicy } from "../project.ts";
import { classFindings } from "./class-rules.ts";
import { allWindowFindings, expressionFindings } from "./expression-rules.ts";
import { policyFindings } from "./policy.ts";
import { ProjectModel } from "./project-model.ts";
import { type PythonModule, readPythonModule } from "./python-module.ts";
import { checkPythonSyntax } from "./python-syntax.ts";
import { requirementFindings } from "./requirements.ts";
import { resolverFindings } from "./resolver-rules.ts";
import { Spans } from "./spans.ts";
import { staticGraph } from "./static-graph.ts";

/** The input of the static lint. */
export interface LintInput {
  /**
   * The project's files by path relative to the root; what is neither Python nor SQL is passed
   * over.
   */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  /** Runtime of the environment, such as `python311`; undefined = any. */
  readonly runtime?: string;
  /** Text of the requirements file. */
  readonly requirements?: string;
  /** Do not check that the requirements hold the drivers of the sources (rule 194). */
  readonly skipDrivers?: boolean;
  /** Metadata that must be there (rule 192). */
  readonly policy?: MetadataPolicy;
  /**
   * Files that earlier runs with the same runtime have read; those whose text is the same are not
   * read again.
   */
  readonly known?: Map<string, ReadFile>;
}

/** A Python file that was read. All follows from its path, its text and the runtime. */
export interface ReadFile {
  readonly text: string;
  /** About its syntax. */
  readonly findings: readonly Diagnostic[];
  /** About its expressions, which count in a project that does not hide the SDK. */
  readonly expressions: readonly Diagnostic[];
  /** Absent when it cannot be parsed. */
  readonly module?: PythonModule;
}

/**
 * Larger Python files are taken to be generated and are not read; what they define is then unknown.
 */
const LARGEST_FILE = 1_048_576;

/** The findings about a project's files, in the order of file and line. Never throws. */
export function lintStatically(input: LintInput): Diagnostic[] {
  return readProjectText(input).diagnostics;
}

/** The content of a project, as the text of its files shows it. */
export interface ProjectText {
  /** Findings in the order of file and line. */
  readonly diagnostics: Diagnostic[];
  /** Made on first use. */
  readonly graph: Graph;
  readonly model: ProjectModel;
}

/** The content of a project's files, with the findings. Never throws. */
export function readProjectText(input: LintInput): ProjectText {
  const findings: Diagnostic[] = [];
  const modules: PythonModule[] = [];
  const expressions: Diagnostic[] = [];
  let whole = true;
  for (const { path, text } of input.files) {
    if (!isPythonModule(path)) continue;
    const read = readPythonFile(path, text, input);
    findings.push(...read.findings);
    expressions.push(...read.expressions);
    if (read.module) modules.push(read.module);
    else whole = false;
  }
  const model = new ProjectModel(modules, whole);
  const spans = new Spans();
  findings.push(...classFindings(model, spans), ...resolverFindings(model, spans));
  if (!model.hidesSdk) findings.push(...expressions);
  findings.push(...allWindowFindings(model, spans));
  if (!input.skipDrivers) findings.push(...requirementFindings(model, spans, input.requirements));
  const sqlFiles = input.files.filter((file) => isSqlFile(file.path));
  const { policy = {} } = input;
  let linked: LinkedGraph | undefined;
  const link = (): LinkedGraph => {
    linked ??= linkedGraph(model, spans, sqlFiles);
    return linked;
  };
  if (sqlFiles.length > 0) findings.push(...link().diagnostics);
  if (policy.feature || policy.resolver) findings.push(...policyFindings(link().graph, policy));
  return {
    diagnostics: mergeFindings(findings),
    model,
    get graph() {
      return link().graph;
    },
  };
}

interface LinkedGraph {
  readonly graph: Graph;
  /** About the SQL files. */
  readonly diagnostics: readonly Diagnostic[];
}

function linkedGraph(model: ProjectModel, spans: Spans, sqlFiles: LintInput["files"]): LinkedGraph {
  const { graph, completeness } = staticGraph(model, spans);
  const { resolvers, diagnostics } = linkSqlFiles(sqlFiles, graph, completeness);
  graph.resolvers.push(...resolvers);
  const settled = settleStaleness(graph);
  graph.featureSets = settled.featureSets;
  return { graph, diagnostics: [...diagnostics, ...settled.diagnostics] };
}

/**
 * The content and the findings of one Python file; a file in `known` with the same text is not read
 * again. Never throws.
 */
export function readPythonFile(path: string, text: string, { known, runtime }: Pick<LintInput, "known" | "runtime">): ReadFile {
  const before = known?.get(path);
  const read = before?.text === text ? before : { text, ...readFile(path, text, runtime) };
  known?.set(path, read);
  return read;
}

function readFile(path: string, text: string, runtime: string | undefined): Omit<ReadFile, "text"> {
  const expressions: Diagnostic[] = [];
  if (text.length > LARGEST_FILE) return { findings: [], expressions };
  const syntax = checkPythonSyntax(text);
  const lines = new LineMap(path, text);
  if (syntax.problem) {
    const { message, start, end } = syntax.problem;
    const span = lines.span(start, end);
    return { findings: [finding(INVALID_SYNTAX.syntax({ problem: message, runtime: runtimeName(runtime) }), span)], expressions };
  }
  const minor = Number(/^python3(\d+)$/.exec(runtime ?? "")?.[1] ?? Number.POSITIVE_INFINITY);
  const findings = syntax.newer
    .filter((newer) => newer.since > minor)
    .map(({ end, since, start, what }) =>
      finding(NEWER_PYTHON.needed({ syntax: what, minor: since, runtime: runtime ?? "" }), lines.span(start, end), {
        hint: `Set \`runtime: python3${since}\` in the project file, or write it another way.`,
      }),
    );
  try {
    const { module, tree } = readPythonModule(path, text, syntax.parseable);
    return { findings, expressions: expressionFindings(module, tree, new Spans()), module };
  } catch (error) {
    if (error instanceof RangeError) return { findings, expressions };
    throw error;
  }
}

function runtimeName(runtime: string | undefined): string {
  const minor = /^python3(\d+)$/.exec(runtime ?? "")?.[1];
  return minor ? `Python 3.${minor}` : "Python 3.10 to 3.13";
}
