/** Running the analyzer on a fixture project, and reading its findings. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Diagnostic, Severity } from "../../gen/svc/v1/error_pb.ts";
import { type Graph, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

/** Folder of the fixture projects. */
export const FIXTURES = join(import.meta.dir, "fixtures");

/** What the analyzer gave. */
export interface AnalyzerRun {
  readonly graph: Graph;
  readonly json: JsonValue;
  readonly stdout: string;
  readonly stderr: string;
}

/** Analyzes a fixture with an interpreter (default: the newest) and reads the graph strictly. */
export async function analyzeFixture(
  name: string,
  options: { python?: string; files?: readonly string[]; policy?: unknown; environment?: Record<string, string> } = {},
): Promise<AnalyzerRun> {
  const python = options.python ?? INTERPRETERS.at(-1)?.path;
  if (python === undefined) throw new Error("no supported Python is installed");
  const scratch = mkdtempSync(join(tmpdir(), "svc-analyzer-"));
  try {
    const out = join(scratch, "graph.json");
    const extra: string[] = [];
    for (const [flag, value] of [
      ["--files", options.files],
      ["--policy", options.policy],
    ] as const) {
      if (value === undefined) continue;
      const path = join(scratch, `${flag.slice(2)}.json`);
      writeFileSync(path, JSON.stringify(value));
      extra.push(flag, path);
    }
    const boot = join(SDK_ROOT, "svc/_boot.py");
    const argv = [python, "-I", "-B", "-X", "utf8", boot, "analyze", "--root", join(FIXTURES, name), "--out", out, ...extra];
    const child = Bun.spawn(argv, {
      env: { PATH: process.env.PATH, HOME: scratch, ...options.environment },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      timeout: 30_000,
    });
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (exitCode !== 0) throw new Error(`the analyzer ended with ${exitCode}: ${stderr}`);
    const json = JSON.parse(readFileSync(out, "utf8")) as JsonValue;
    return { graph: fromJson(GraphSchema, json), json, stdout, stderr };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A finding in the form that the tests compare: `E142 resolvers.py:7:31 emial`, with the text that the span covers. */
export function placed(fixture: string, diagnostic: Diagnostic): string {
  const span = diagnostic.span;
  const letter = diagnostic.severity === Severity.WARNING ? "W" : "E";
  if (!span) return `${letter}${diagnostic.code}`;
  const text = readFileSync(join(FIXTURES, fixture, span.file), "utf8");
  const line = [...(text.split(/\r?\n/)[span.line - 1] ?? "")];
  const covered = span.endLine === span.line ? line.slice(span.column - 1, span.endColumn - 1).join("") : "...";
  return `${letter}${diagnostic.code} ${span.file}:${span.line}:${span.column} ${covered}`;
}
