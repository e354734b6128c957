/** Finding and reading the project file, `svc.yaml` or `svc.yml`. */

import { realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import { finding } from "../domain/finding.ts";
import { LineMap } from "../domain/line-map.ts";
import { BAD_PROJECT_FILE } from "../domain/rules/project.ts";
import { readYaml, type YamlProblem } from "../domain/yaml-tree.ts";
import { CliError } from "../errors/cli-error.ts";
import { formatDiagnostic } from "../output/diagnostic.ts";
import { bundleFiles } from "./bundle.ts";
import { listFiles } from "./ignore.ts";
import type { Listing, Project, ProjectEnvironment, ProjectFile } from "./project.ts";
import { readProjectFile } from "./project-file.ts";
import { readTextFile } from "./text-file.ts";
import { refuseForeign } from "./trust.ts";

/** Names of the project file, in the order in which they are looked for. */
export const PROJECT_FILES = ["svc.yaml", "svc.yml"] as const;

/** Dependencies of loading a project. */
export interface ProjectDeps {
  /** Environment variables: they say which projects of other users are trusted. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with a line for each file that is skipped for another reason than an ignore rule. */
  readonly note?: (text: string) => void;
}

const UNTRUSTING: ProjectDeps = { env: {} };

/**
 * The project of a folder: the project file is looked for in it and in its parents. Throws a
 * CliError when there is none (`no_project`), when it is another user's (`untrusted_project`), or
 * when it is no YAML (`bad_project_file`); wrong keys and values are findings 190.
 */
export async function loadProject(dir: string, deps: ProjectDeps = UNTRUSTING): Promise<Project> {
  const { configPath, text } = await findProjectFile(resolve(dir), deps);
  const root = await realpath(dirname(configPath));
  const file = basename(configPath);
  const lines = new LineMap(file, text);
  const { root: tree, problems } = readYaml(text);
  const problem = problems[0];
  if (problem) throw brokenYaml(lines, configPath, problem);
  const read = readProjectFile(tree, lines, text, basename(root));
  const missing = await missingFiles(root, read.environments, lines);
  return new LoadedProject(root, join(root, file), { ...read, diagnostics: [...read.diagnostics, ...missing] }, deps);
}

/**
 * Path of the project file of a folder, which need not be YAML. Throws the CliErrors `no_project`
 * and `untrusted_project`.
 */
export async function projectFileOf(dir: string, deps: ProjectDeps): Promise<string> {
  return (await findProjectFile(resolve(dir), deps)).configPath;
}

class LoadedProject implements Project {
  readonly name: string;
  readonly environments: readonly ProjectEnvironment[];
  readonly validation: Project["validation"];
  readonly diagnostics: readonly Diagnostic[];
  readonly #noted = new Set<string>();

  constructor(
    readonly root: string,
    readonly configPath: string,
    content: Pick<Project, "name" | "environments" | "validation" | "diagnostics">,
    readonly deps: ProjectDeps,
  ) {
    this.name = content.name;
    this.environments = content.environments;
    this.validation = content.validation;
    this.diagnostics = content.diagnostics;
  }

  environment(name: string | undefined): ProjectEnvironment {
    const named = this.environments.find((environment) => environment.name === name);
    return named ?? this.environments.find((environment) => environment.name === "default") ?? { name: "default" };
  }

  async files(environment?: string): Promise<readonly ProjectFile[]> {
    return (await this.list(environment)).files;
  }

  async list(environment?: string): Promise<Listing> {
    const { ignoreFile } = this.environment(environment);
    const secrets: string[] = [];
    const files = await listFiles(this.root, {
      note: (text) => this.#note(text),
      onSecret: (path) => secrets.push(path),
      ...(ignoreFile ? { ignoreFile } : {}),
    });
    return { files, secrets: secrets.sort() };
  }

  /** Passes each text to `note` once, however often the folder is read. */
  #note(text: string): void {
    if (this.#noted.has(text)) return;
    this.#noted.add(text);
    this.deps.note?.(text);
  }

  async bundle(environment?: string) {
    return await bundleFiles(this.root, await this.files(environment));
  }
}

async function findProjectFile(dir: string, deps: ProjectDeps): Promise<{ configPath: string; text: string }> {
  const searched: string[] = [];
  for (let folder = dir; ; folder = dirname(folder)) {
    searched.push(folder);
    for (const name of PROJECT_FILES) {
      const configPath = join(folder, name);
      const text = readTextFile(configPath);
      if (text === undefined) continue;
      await refuseForeign(configPath, deps.env);
      return { configPath, text };
    }
    if (dirname(folder) === folder) break;
  }
  throw new CliError(`No project file: there is no svc.yaml or svc.yml in ${listOf(searched)}.`, {
    code: "no_project",
    hint: "Run `svc init` in the project's folder, or name the folder with `--dir`.",
    details: { searched },
  });
}

function listOf(folders: readonly string[]): string {
  return folders.length === 1 ? (folders[0] as string) : `${folders[0]} or its parents ${folders.slice(1).join(", ")}`;
}

function brokenYaml(lines: LineMap, configPath: string, { message, start, end }: YamlProblem): CliError {
  const span = lines.span(start, Math.max(end, start + 1));
  const problem = BAD_PROJECT_FILE.notYaml({ problem: `${message.charAt(0).toLowerCase()}${message.slice(1)}` });
  return new CliError(
    formatDiagnostic(finding(problem, span), () => lines.text),
    { code: "bad_project_file", details: { file: configPath, line: span.line, column: span.column, message: problem.message } },
  );
}

/** Findings 190 about files that the project file names and that do not exist. */
async function missingFiles(root: string, environments: readonly ProjectEnvironment[], lines: LineMap): Promise<Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const environment of environments) {
    for (const [key, path] of [
      ["requirements", environment.requirements],
      ["ignore_file", environment.ignoreFile],
      ...(environment.venvs ?? []).map(({ name, requirements }) => [`venvs.${name}.requirements`, requirements] as const),
    ] as const) {
      const full = path === undefined ? undefined : resolve(root, path);
      if (path === undefined || full === undefined || readTextFile(full) !== undefined) continue;
      const at = lines.text.indexOf(path);
      const outside = relative(root, full).startsWith("..");
      const problem = BAD_PROJECT_FILE.missingFile({ environment: environment.name, key, path });
      found.push(
        finding(problem, lines.span(Math.max(at, 0), Math.max(at, 0) + path.length), {
          hint: outside ? "Paths are relative to the project file and stay below it." : "",
        }),
      );
    }
  }
  return found;
}
