/**
 * Validating a project, as `lint` and `apply` do it: the rules that need the text only, the
 * analyzer (Python), then the server. Each step adds findings; the server is asked only about a
 * graph without errors.
 */

import { join, posix } from "node:path";
import type { DeploymentDiff } from "../../gen/svc/v1/deployment_pb.ts";
import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import type { Graph } from "../../gen/svc/v1/graph_pb.ts";
import type { Context } from "../context/context.ts";
import { isError, mergeFindings } from "../domain/finding.ts";
import { INVALID_SYNTAX, NEWER_PYTHON } from "../domain/rules/loading.ts";
import { ruleOf } from "../domain/rules/rules.ts";
import { analyzedFiles } from "../domain/source-file.ts";
import type { SourceText } from "../output/diagnostic.ts";
import type { LintInput } from "../project/lint/lint.ts";
import type { Project, ProjectEnvironment } from "../project/project.ts";
import { readTextFile } from "../project/text-file.ts";

/** What to validate. */
export interface ValidateOptions {
  /** Ask the server too. Default true. */
  readonly remote?: boolean;
  /** Throw at once when the server cannot be asked, before anything is validated. */
  readonly needsServer?: boolean;
  /** Branch that the server compares with; undefined or empty = the environment. */
  readonly branch?: string | undefined;
  /** Leave out the warnings that are found on this machine (`--skip-lsp`); errors always count. */
  readonly skipLocalWarnings?: boolean;
  /** Leave out rule 194 (`--skip-sql-extras-check`). */
  readonly skipDrivers?: boolean;
}

/** What came of it. */
export interface Validation {
  readonly project: Project;
  /** The settings that hold for the environment that was validated for. */
  readonly environment: ProjectEnvironment;
  /** The analyzer's graph; undefined when Python could not be run. */
  readonly graph: Graph | undefined;
  /** Findings of all steps, without doubles, in the order of file and line. */
  readonly diagnostics: readonly Diagnostic[];
  /** Findings of the server alone; undefined when it was not asked. */
  readonly remote: readonly Diagnostic[] | undefined;
  /** What a deployment would change; undefined when the server was not asked. */
  readonly diff: DeploymentDiff | undefined;
  /**
   * Project that is live where this one would be deployed; empty when nothing is, or the server was
   * not asked.
   */
  readonly liveProject: string;
  /**
   * Why the server could not be asked, such as that nothing answers there; undefined when it could,
   * or was not to be.
   */
  readonly unasked: unknown;
  /** Text of the files that findings speak of. */
  readonly source: SourceText;
}

/**
 * Number of files from which on what linting leaves behind is collected while Python is still busy,
 * so that the graph can take its place.
 */
const MANY_FILES = 50;

/**
 * Validates the project of a context, for the environment that the server compares with; without
 * the server, for that of the flag or the stored setting. Throws what loading the project throws,
 * and with `needsServer` why the server could not be asked.
 */
export async function validateProject(context: Context, options: ValidateOptions = {}): Promise<Validation> {
  const project = await context.project();
  const server = options.remote === false ? undefined : await outcome(context, () => activeEnvironment(context));
  if (options.needsServer && server?.failure !== undefined) throw server.failure;
  const name = server?.value ?? nameOf(context.flags.environment ?? (await context.settings()).environment.value);
  const environment = project.environment(name);
  const files = await readFiles(context, project, environment);
  const texts = new Map(files.map((file) => [file.path, file.text]));
  const config = readTextFile(project.configPath);
  if (config !== undefined) texts.set(project.configPath.slice(project.root.length + 1), config);
  const requirementsFile = environment.requirements && posix.normalize(environment.requirements);
  const requirements = requirementsFile ? readTextFile(join(project.root, requirementsFile)) : undefined;
  if (requirementsFile && requirements !== undefined) texts.set(requirementsFile, requirements);
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
      const found = await knownOrLinted(context, {
        files,
        policy: project.validation,
        skipDrivers: options.skipDrivers ?? false,
        ...(environment.runtime ? { runtime: environment.runtime } : {}),
        ...(requirements === undefined ? {} : { requirements }),
      });
      return await withAnalysis(found, analysis, project);
    },
    hasErrors,
  );
  const diagnostics = options.skipLocalWarnings ? local.diagnostics.filter(isError) : local.diagnostics;
  const here = mergeFindings(project.diagnostics, diagnostics);
  const { graph } = local;
  const base = { project, environment, graph, source: (file: string) => texts.get(file) };
  const alone = { ...base, diagnostics: here, remote: undefined, diff: undefined, liveProject: "" };
  if (!server || !graph || here.some(isError) || server.failure !== undefined) return { ...alone, unasked: server?.failure };
  const { value: answer, failure } = await outcome(context, () =>
    context.progress.step(
      "Validating against the deployment",
      async () => {
        const deployments = await context.api.deployments();
        return await deployments.validateGraph({ graph, branch: options.branch ?? "" }, { signal: context.signal });
      },
      hasErrors,
    ),
  );
  if (!answer) return { ...alone, unasked: failure };
  return {
    ...base,
    diagnostics: mergeFindings(here, answer.diagnostics),
    remote: answer.diagnostics,
    diff: answer.diff,
    liveProject: answer.liveProjectName,
    unasked: undefined,
  };
}

function hasErrors({ diagnostics }: { readonly diagnostics: readonly Diagnostic[] }): boolean {
  return diagnostics.some(isError);
}

/** What work gives, or why it failed; throws when the command was interrupted meanwhile. */
async function outcome<T>({ signal }: Context, work: () => Promise<T>): Promise<{ readonly value?: T; readonly failure?: unknown }> {
  try {
    return { value: await work() };
  } catch (failure) {
    if (signal.aborted) throw failure;
    return { failure };
  }
}

/** Name of the environment that the server will compare with. */
async function activeEnvironment({ api, signal }: Context): Promise<string> {
  return (await (await api.auth()).whoAmI({}, { signal })).environmentName;
}

/** The project file knows environments by name; an id says nothing there. */
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
 * The findings of the static lint, which are taken from an earlier run when the input is the same.
 */
async function knownOrLinted(context: Context, input: LintInput): Promise<readonly Diagnostic[]> {
  const [{ LintCache }, folder] = await Promise.all([import("../project/lint/lint-cache.ts"), context.python().cacheFolder()]);
  const known = new LintCache(join(folder, "lint"), input);
  const before = known.get();
  if (before) return before;
  const found = (await import("../project/lint/lint.ts")).lintStatically(input);
  known.put(found);
  if (input.files.length > MANY_FILES) setTimeout(() => Bun.gc(true)).unref();
  return found;
}

/**
 * What the text shows and what the analyzer says, each thing once: syntax that only newer versions
 * of Python know is 104, and to the older one 101.
 */
async function withAnalysis(
  found: readonly Diagnostic[],
  analysis: ReturnType<ReturnType<Context["python"]>["analyze"]>,
  project: Project,
): Promise<{ graph: Graph | undefined; diagnostics: Diagnostic[] }> {
  try {
    const { graph, python } = await analysis;
    const { policyFindings } = await import("../project/lint/policy.ts");
    const newer = new Set(found.filter(({ code }) => code === NEWER_PYTHON.code).map(({ span }) => span?.file));
    const analyzed = graph.diagnostics.filter(({ code, span }) => code !== INVALID_SYNTAX.code || !newer.has(span?.file));
    const isSound = !graph.diagnostics.some(isError);
    const policy = policyFindings(graph, project.validation);
    const kept = found.filter((diagnostic) => !isOverruled(diagnostic, isSound, python !== undefined));
    return { graph: python === undefined ? undefined : graph, diagnostics: mergeFindings(kept, analyzed, policy) };
  } catch (error) {
    const { ToolchainError } = await import("../python/toolchain.ts");
    if (!(error instanceof ToolchainError)) throw error;
    return { graph: undefined, diagnostics: mergeFindings(found, error.diagnostics) };
  }
}

/**
 * Whether the analyzer's word counts instead, as the rule says; on SQL files it does when it found
 * no error. The text alone may have been misread, and a project that works is not to be stopped by
 * that.
 */
function isOverruled(diagnostic: Diagnostic, isSound: boolean, ran: boolean): boolean {
  const yields = ruleOf(diagnostic)?.yields;
  if (yields === "to-any-analysis") return ran;
  return isSound && (yields === "to-sound-analysis" || diagnostic.span?.file.endsWith(".sql") === true);
}
