/**
 * The validation of a project, for `lint` and `apply`: first the rules that need only the text,
 * then the analyzer (Python), then the server. Each step adds findings; the server is asked only
 * about a graph without errors.
 */

import { join, posix } from "node:path";
import type { DeploymentDiff } from "../../gen/svc/v1/deployment_pb.ts";
import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import type { Graph } from "../../gen/svc/v1/graph_pb.ts";
import type { Context } from "../context/context.ts";
import { isError, mergeFindings } from "../domain/finding.ts";
import { addFeatures } from "../domain/graph-diff.ts";
import { INVALID_SYNTAX, NEWER_PYTHON } from "../domain/rules/loading.ts";
import { ruleOf } from "../domain/rules/rules.ts";
import { analyzedFiles } from "../domain/source-file.ts";
import { venvFindings } from "../domain/venvs.ts";
import { CliError } from "../errors/cli-error.ts";
import type { SourceText } from "../output/diagnostic.ts";
import type { LintInput } from "../project/lint/lint.ts";
import type { Project, ProjectEnvironment } from "../project/project.ts";
import { readTextFile } from "../project/text-file.ts";

/** Options of a validation. */
export interface ValidateOptions {
  /** Whether the server is asked too. Default true. */
  readonly remote?: boolean;
  /** Whether to throw at once when the server cannot be asked, before anything is validated. */
  readonly needsServer?: boolean;
  /** Branch that the server compares with; undefined or empty means the environment. */
  readonly branch?: string | undefined;
  /** Whether warnings found on this machine are left out (`--skip-lsp`); errors always count. */
  readonly skipLocalWarnings?: boolean;
  /** Whether rule 194 is left out (`--skip-sql-extras-check`). */
  readonly skipDrivers?: boolean;
  /** Called while Python analyzes, when this process has nothing else to do. Must not throw. */
  readonly meanwhile?: (project: Project, environment: ProjectEnvironment) => void;
}

/** The environment that is deployed to. */
export interface DeploymentPlace {
  readonly environment: string;
  readonly createsEnvironment: boolean;
  readonly createsProject: boolean;
}

/** The result of a validation. */
export interface Validation {
  readonly project: Project;
  /** The settings of the environment that was validated for. */
  readonly environment: ProjectEnvironment;
  /** The analyzer's graph without translations; undefined when Python could not be run. */
  readonly graph: Graph | undefined;
  /** The bytes of the whole graph, for who calls this before the graph is changed. */
  readonly graphBytes: (() => Uint8Array) | undefined;
  /** Findings of all steps, without duplicates, sorted by file and line. */
  readonly diagnostics: readonly Diagnostic[];
  /** Findings of the server alone; undefined when it was not asked. */
  readonly remote: readonly Diagnostic[] | undefined;
  /** The changes of a deployment; undefined when the server was not asked. */
  readonly diff: DeploymentDiff | undefined;
  /**
   * The project that is live where this one would be deployed; empty when none is, or the server
   * was not asked.
   */
  readonly liveProject: string;
  /** What a deployment would make first; undefined when the server was not asked. */
  readonly place: DeploymentPlace | undefined;
  /**
   * The error for which the server could not be asked, for example that nothing answers at its
   * address; undefined when it was asked, or did not have to be.
   */
  readonly serverFailure: unknown;
  /** Text of the files that findings are about. */
  readonly source: SourceText;
}

/**
 * Number of files from which garbage is collected between the large steps: after the lint, while
 * Python is still busy, and once the graph is sent.
 */
const MANY_FILES = 50;

/**
 * Validates the project of a context, for the environment that the server compares with; without
 * the server, for that of the flag or the stored setting. Throws the errors of loading the project,
 * and with `needsServer` the error for which the server could not be asked.
 */
export async function validateProject(context: Context, options: ValidateOptions = {}): Promise<Validation> {
  const project = await context.project();
  const given = (await context.settings()).environment.value;
  const server = options.remote === false ? undefined : await outcome(context, () => activeEnvironment(context, project, given));
  if (options.needsServer && server?.failure !== undefined) throw server.failure;
  const name = server?.value ?? nameOf(given);
  const environment = project.environment(name);
  const files = await readFiles(context, project, environment);
  const texts = new Map(files.map((file) => [file.path, file.text]));
  const config = readTextFile(project.configPath);
  if (config !== undefined) texts.set(project.configPath.slice(project.root.length + 1), config);
  const requirementsFile = environment.requirements && posix.normalize(environment.requirements);
  const requirements = requirementsFile ? readTextFile(join(project.root, requirementsFile)) : undefined;
  if (requirementsFile && requirements !== undefined) texts.set(requirementsFile, requirements);
  let cache: (() => void) | undefined;
  const local = await context.progress.step(
    "Validating the project",
    async (say) => {
      const started = Promise.withResolvers<void>();
      const analysis = context.python().analyze({
        root: project.root,
        files: files.map((file) => file.path),
        project: project.name,
        onProgress: say,
        onStart: started.resolve,
        onCacheable: (given) => {
          cache = given;
        },
        signal: context.signal,
        ...(environment.runtime ? { runtime: environment.runtime } : {}),
        ...(requirements === undefined || !requirementsFile ? {} : { requirements, requirementsFile }),
        ...(name === undefined ? {} : { environmentName: name }),
      });
      const settled = analysis.then(
        () => undefined,
        () => undefined,
      );
      await Promise.race([started.promise, settled]);
      const found = await cachedLint(context, project.root, {
        files,
        policy: project.validation,
        skipDrivers: options.skipDrivers ?? false,
        ...(environment.runtime ? { runtime: environment.runtime } : {}),
        ...(requirements === undefined ? {} : { requirements }),
      });
      options.meanwhile?.(project, environment);
      return await withAnalysis(found, analysis, project, environment, name);
    },
    hasErrors,
  );
  const diagnostics = options.skipLocalWarnings ? local.diagnostics.filter(isError) : local.diagnostics;
  const localFindings = mergeFindings(project.diagnostics, diagnostics);
  const { graph, graphBytes } = local;
  const base = { project, environment, graph, graphBytes, source: (file: string) => texts.get(file) };
  const localResult = { ...base, diagnostics: localFindings, remote: undefined, diff: undefined, liveProject: "", place: undefined };
  if (!server || !graph || !graphBytes || localFindings.some(isError) || server.failure !== undefined) {
    cache?.();
    return { ...localResult, serverFailure: server?.failure };
  }
  const { value: answer, failure } = await outcome(context, () =>
    context.progress.step(
      "Validating against the deployment",
      async () => {
        const deployments = await context.api.deployments();
        const request = {
          ...{ graph: graphBytes(), branch: options.branch ?? "", withoutFeatures: true },
          ...{ projectName: project.name, environmentNames: environmentNames(project) },
        };
        const [answered] = await Promise.all([
          deployments.validateGraph(request, { signal: context.signal }),
          whileServerReads(() => {
            collectGarbage(files.length);
            cache?.();
          }),
        ]);
        if (answered.diff) addFeatures(answered.diff, graph);
        return answered;
      },
      hasErrors,
    ),
  );
  if (!answer) return { ...localResult, serverFailure: failure };
  return {
    ...base,
    diagnostics: mergeFindings(localFindings, answer.diagnostics),
    remote: answer.diagnostics,
    diff: answer.diff,
    liveProject: answer.liveProjectName,
    place: {
      environment: answer.environmentName,
      createsEnvironment: answer.createsEnvironment,
      createsProject: answer.createsProject,
    },
    serverFailure: undefined,
  };
}

/**
 * Does some work once a request is on its way, which is sent by another thread: the two take no
 * longer than the one.
 */
async function whileServerReads(work: () => void): Promise<void> {
  await new Promise(setImmediate);
  work();
}

function hasErrors({ diagnostics }: { readonly diagnostics: readonly Diagnostic[] }): boolean {
  return diagnostics.some(isError);
}

/** The value of some work, or its failure. Throws when the command was interrupted meanwhile. */
async function outcome<T>({ signal }: Context, work: () => Promise<T>): Promise<{ readonly value?: T; readonly failure?: unknown }> {
  try {
    return { value: await work() };
  } catch (failure) {
    if (signal.aborted) throw failure;
    return { failure };
  }
}

/**
 * Names of the environments in the project file, which a deployment makes where they are missing.
 */
export function environmentNames({ environments }: Project): string[] {
  return environments.map(({ name }) => name);
}

/**
 * Name of the environment that the server will compare with: where it has none yet, the one that is
 * named, or else the one that a new project is deployed to. Throws a CliError.
 */
async function activeEnvironment({ api, signal }: Context, project: Project, given: string | undefined): Promise<string> {
  const names = environmentNames(project);
  try {
    const { environmentName } = await (await api.auth()).whoAmI({}, { signal });
    if (environmentName !== "") return environmentName;
  } catch (error) {
    const isNew = error instanceof CliError && error.code === "not_found" && given !== undefined && names.includes(given);
    if (!isNew) throw error;
  }
  return nameOf(given) ?? (names.includes("default") ? "default" : (names[0] ?? "default"));
}

/**
 * The name of an environment; undefined for an id, because the project file knows environments by
 * name only.
 */
function nameOf(environment: string | undefined): string | undefined {
  return environment?.startsWith("env_") ? undefined : environment;
}

async function readFiles(context: Context, project: Project, environment: ProjectEnvironment): Promise<{ path: string; text: string }[]> {
  const paths = analyzedFiles((await project.files(environment.name)).map((file) => file.path));
  const texts = await Promise.all(paths.map((path) => context.machine.readText(join(project.root, path))));
  return paths.flatMap((path, index) => {
    const text = texts[index];
    return text === undefined ? [] : [{ path, text }];
  });
}

/**
 * The findings of the static lint, cached from an earlier run with the same input; for another
 * input, only the files that have changed since the last run are read.
 */
async function cachedLint(context: Context, root: string, input: LintInput): Promise<readonly Diagnostic[]> {
  const [{ LintCache }, folder] = await Promise.all([import("../project/lint/lint-cache.ts"), context.python().cacheFolder()]);
  const cache = new LintCache(join(folder, "lint"), input);
  const before = cache.get();
  if (before) return before;
  const [{ lintStatically }, { KnownFiles }] = await Promise.all([
    import("../project/lint/lint.ts"),
    import("../project/lint/known-files.ts"),
  ]);
  const files = new KnownFiles(join(folder, "lint-files"), root, input.runtime);
  const known = files.get(input.files);
  const found = lintStatically({ ...input, known });
  cache.put(found);
  files.put(known);
  setTimeout(() => collectGarbage(input.files.length)).unref();
  return found;
}

/** Collects what an earlier step left, so that the next one can reuse the memory. */
function collectGarbage(files: number): void {
  if (files > MANY_FILES) Bun.gc(true);
}

/**
 * The findings of the text and of the analyzer, each problem once: syntax that only newer Python
 * versions accept is finding 104, and 101 to the older interpreter.
 */
async function withAnalysis(
  found: readonly Diagnostic[],
  analysis: ReturnType<ReturnType<Context["python"]>["analyze"]>,
  project: Project,
  { venvs = [] }: ProjectEnvironment,
  environmentName: string | undefined,
): Promise<{ graph: Graph | undefined; graphBytes?: () => Uint8Array; diagnostics: Diagnostic[] }> {
  try {
    const { graph, bytes, python } = await analysis;
    const { policyFindings } = await import("../project/lint/policy.ts");
    const newer = new Set(found.filter(({ code }) => code === NEWER_PYTHON.code).map(({ span }) => span?.file));
    const analyzed = graph.diagnostics.filter(({ code, span }) => code !== INVALID_SYNTAX.code || !newer.has(span?.file));
    const isSound = !graph.diagnostics.some(isError);
    const policy = policyFindings(graph, project.validation);
    const kept = found.filter((diagnostic) => !isOverruled(diagnostic, isSound, python !== undefined));
    const ofVenvs = python === undefined || !isSound ? [] : venvFindings(graph, venvs, environmentName);
    return {
      graph: python === undefined ? undefined : graph,
      graphBytes: bytes,
      diagnostics: mergeFindings(kept, analyzed, policy, ofVenvs),
    };
  } catch (error) {
    const { ToolchainError } = await import("../python/toolchain.ts");
    if (!(error instanceof ToolchainError)) throw error;
    return { graph: undefined, diagnostics: mergeFindings(found, error.diagnostics) };
  }
}

/**
 * Whether the analyzer's result replaces the finding, as its rule says; in SQL files it does when
 * the analyzer found no error. The text alone may have been misread, and that must not stop a
 * project that works.
 */
function isOverruled(diagnostic: Diagnostic, isSound: boolean, ran: boolean): boolean {
  const yields = ruleOf(diagnostic)?.yields;
  if (yields === "to-any-analysis") return ran;
  return isSound && (yields === "to-sound-analysis" || diagnostic.span?.file.endsWith(".sql") === true);
}
