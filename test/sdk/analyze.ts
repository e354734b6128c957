/** Running the analyzer on a fixture project, and reading its findings. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Diagnostic, Severity } from "../../gen/svc/v1/error_pb.ts";
import { type Graph, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

/**
 * Where the package is compiled once for all test files, by each version of Python, and again where
 * its source has changed.
 */
const BYTECODE = join(import.meta.dir, "../../dist/test-bytecode");

/**
 * Flags of the interpreter: those that the toolchain uses, with the compiled package kept out of
 * the source folder.
 */
export const PYTHON_FLAGS = ["-I", "-B", "-X", "utf8", "-X", `pycache_prefix=${BYTECODE}`];

/** Folder of the fixture projects. */
export const FIXTURES = join(import.meta.dir, "fixtures");

/** What the analyzer gave. */
export interface AnalyzerRun {
  readonly graph: Graph;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a fixture is analyzed. */
export interface AnalyzeOptions {
  /** Path of the interpreter; default: the newest. */
  readonly python?: string;
  /** Files to import; default: all of the folder. */
  readonly files?: readonly string[];
}

const runs = new Map<string, Promise<AnalyzerRun>>();

/**
 * Analyzes a fixture and reads the graph strictly. Equal calls share one run, so what it gives must
 * not be changed.
 */
export function analyzeFixture(name: string, options: AnalyzeOptions = {}): Promise<AnalyzerRun> {
  const key = JSON.stringify([name, options]);
  const run = runs.get(key) ?? runAnalyzer(name, options);
  runs.set(key, run);
  return run;
}

async function runAnalyzer(name: string, options: AnalyzeOptions): Promise<AnalyzerRun> {
  const python = options.python ?? INTERPRETERS.at(-1)?.path;
  if (python === undefined) throw new Error("no supported Python is installed");
  const scratch = mkdtempSync(join(tmpdir(), "svc-analyzer-"));
  try {
    const out = join(scratch, "graph.json");
    const extra: string[] = [];
    if (options.files !== undefined) {
      const path = join(scratch, "files.json");
      writeFileSync(path, JSON.stringify(options.files));
      extra.push("--files", path);
    }
    const boot = join(SDK_ROOT, "svc/_boot.py");
    const argv = [python, ...PYTHON_FLAGS, boot, "analyze", "--root", join(FIXTURES, name), "--out", out, ...extra];
    const child = Bun.spawn(argv, {
      env: { PATH: process.env.PATH, HOME: scratch },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (exitCode !== 0) throw new Error(`the analyzer ended with ${exitCode}: ${stderr}`);
    const json = JSON.parse(readFileSync(out, "utf8")) as JsonValue;
    return { graph: fromJson(GraphSchema, json), stdout, stderr };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * The graphs of whole fixtures by one interpreter, which is started once, in their order; what it
 * prints is left out.
 */
export async function analyzeFixtures(names: readonly string[], python: string): Promise<readonly Graph[]> {
  const scratch = mkdtempSync(join(tmpdir(), "svc-analyzer-"));
  try {
    const outputs = names.map((name) => join(scratch, `${name}.json`));
    const lines = names.map((name, index) => JSON.stringify([join(FIXTURES, name), outputs[index]]));
    const child = Bun.spawn([python, ...PYTHON_FLAGS, join(import.meta.dir, "analyze-many.py"), SDK_ROOT], {
      env: { PATH: process.env.PATH, HOME: scratch },
      stdin: Buffer.from(lines.join("\n")),
      stdout: "ignore",
      stderr: "pipe",
    });
    const stderr = await new Response(child.stderr).text();
    if ((await child.exited) !== 0) throw new Error(`the analyzer ended with ${child.exitCode}: ${stderr}`);
    return outputs.map((out) => fromJson(GraphSchema, JSON.parse(readFileSync(out, "utf8")) as JsonValue));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * A finding in the form that the tests compare: `E142 resolvers.py:7:31 emial`, with the text that
 * the span covers.
 */
export function placed(fixture: string, diagnostic: Diagnostic): string {
  const span = diagnostic.span;
  const letter = diagnostic.severity === Severity.WARNING ? "W" : "E";
  if (!span) return `${letter}${diagnostic.code}`;
  const text = readFileSync(join(FIXTURES, fixture, span.file), "utf8");
  const line = [...(text.split(/\r?\n/)[span.line - 1] ?? "")];
  const covered = span.endLine === span.line ? line.slice(span.column - 1, span.endColumn - 1).join("") : "...";
  return `${letter}${diagnostic.code} ${span.file}:${span.line}:${span.column} ${covered}`;
}
