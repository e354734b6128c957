/** The Python workers of a deployment. */

import { realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../context/clock.ts";
import { finding } from "../../domain/finding.ts";
import { IMPORT_FAILED } from "../../domain/rules/loading.ts";
import { isPythonModule } from "../../domain/source-file.ts";
import { ToolchainError } from "../../python/toolchain.ts";
import type { Launch } from "./launch.ts";
import type { PythonPool, WorkerLog, WorkerObserver } from "./pool.ts";
import type { ProfileSamples } from "./profile.ts";
import { makeSocketFolder } from "./socket-folder.ts";
import { Supervisor } from "./supervisor.ts";
import { type WorkerSpec, WorkerStartError } from "./worker.ts";

/** Options of a pool. */
export interface WorkerPoolOptions {
  /** Interpreter of the deployment's virtual environment. */
  readonly python: string;
  /** How they are started; default: on this machine. */
  readonly launch?: Launch;
  /** Folder that holds the package `svc`. */
  readonly sdkRoot: string;
  /** File of compiled modules, of which the workers use those that fit; default: none. */
  readonly codeFile?: string;
  /** Folder of the deployment's unpacked source. */
  readonly sourceRoot: string;
  /** Environment variables of the workers; `TARGET_ROOT` and the deployment's names are added. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Number of workers. */
  readonly size: number;
  /**
   * Folder for sockets, created with mode 0700. When its path is too long for a socket, a temporary
   * folder is used instead.
   */
  readonly socketDir: string;
  /** Called with lines logged by user code. */
  readonly onLog: (line: WorkerLog) => void;
  /** Told of the processes; default: nobody is. */
  readonly observer?: WorkerObserver;
  /** Called with samples of what resolvers are doing; absent = the workers take none. */
  readonly onProfile?: (samples: ProfileSamples) => void;
  readonly clock: Clock;
  /** Cap on the address space of a worker. */
  readonly memoryLimitBytes?: number;
  readonly deploymentId: string;
  readonly environmentName: string;
  /** Time allowed for a call that names none (`deadlineMs` zero). */
  readonly defaultTimeoutMs: number;
  /** Longest time until a worker is ready once its resolvers are known, in ms; default 60 s. */
  readonly startTimeoutMs?: number;
  /**
   * FQNs of the Python resolvers that it runs; the imported project must define each. Until a
   * promise of them resolves, the workers import the project and run no hooks; when it rejects, the
   * start is to be ended by `signal`.
   */
  readonly resolverFqns: readonly string[] | Promise<readonly string[]>;
  /** Of workers of a venv; default: they import the whole project. */
  readonly venv?: VenvModules;
  /** Ends a start that is under way, which then fails; default: never. */
  readonly signal?: AbortSignal;
}

/** What the workers of a venv import, as paths relative to the source. */
export interface VenvModules {
  readonly name: string;
  /** Modules of its resolvers and hooks. */
  readonly modules: readonly string[];
  /** Modules of feature classes: one that cannot be imported is left out, unless it is needed. */
  readonly classModules: readonly string[];
}

/**
 * Starts the workers of a deployment. Resolves when the first of them has imported the project. For
 * a graph that is known to have no Python resolvers none is started. Throws ToolchainError with
 * findings when the project does not import or lacks one of the resolvers.
 */
export async function createWorkerPool(options: WorkerPoolOptions): Promise<PythonPool> {
  const sourceRoot = await realpath(options.sourceRoot);
  const folder = await makeSocketFolder(options.socketDir);
  const { resolverFqns, signal } = options;
  const supervisor = new Supervisor({
    ...options,
    spec: await specOf(options, sourceRoot, folder),
    onEnd: () => rm(folder, { recursive: true, force: true }),
  });
  if (!(resolverFqns instanceof Promise) && resolverFqns.length === 0) return supervisor;
  const stop = (): void => void supervisor.drain(0);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    signal?.throwIfAborted();
    const loaded = await supervisor.start();
    const missing = (await resolverFqns).filter((fqn) => !loaded.has(fqn));
    if (missing.length === 0) return supervisor;
    const said = IMPORT_FAILED.missingResolver({ resolvers: missing.join("', '") });
    throw new ToolchainError(said.message, [finding(said, undefined)]);
  } catch (error) {
    await supervisor.drain(0);
    throw error instanceof WorkerStartError ? new ToolchainError(error.message, error.diagnostics) : error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

async function specOf(options: WorkerPoolOptions, sourceRoot: string, folder: string): Promise<WorkerSpec> {
  const { venv } = options;
  const fileList = join(folder, "files.json");
  const classList = join(folder, "classes.json");
  await writeList(fileList, venv?.modules ?? (await modulesOf(sourceRoot)));
  if (venv) await writeList(classList, venv.classModules);
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.env)) if (value !== undefined) env[name] = value;
  return {
    python: options.python,
    sdkRoot: options.sdkRoot,
    sourceRoot,
    fileList,
    env: { ...env, TARGET_ROOT: sourceRoot, SVC_DEPLOYMENT_ID: options.deploymentId, SVC_ENVIRONMENT_NAME: options.environmentName },
    socketDir: folder,
    ...(options.launch && { launch: options.launch }),
    ...(options.codeFile !== undefined && { codeFile: options.codeFile }),
    ...(venv && { venv: { name: venv.name, classList } }),
    profiles: options.onProfile !== undefined,
    startTimeoutMs: options.startTimeoutMs ?? 60_000,
    ...(options.resolverFqns instanceof Promise && { begins: options.resolverFqns }),
    ...(options.memoryLimitBytes !== undefined && { memoryLimitBytes: options.memoryLimitBytes }),
  };
}

async function modulesOf(sourceRoot: string): Promise<string[]> {
  const paths = await Array.fromAsync(new Bun.Glob("**/*.py").scan({ cwd: sourceRoot }));
  return paths.map((path) => path.replaceAll("\\", "/")).filter(isPythonModule);
}

function writeList(path: string, files: readonly string[]): Promise<void> {
  return writeFile(path, JSON.stringify([...files].sort()), { mode: 0o600 });
}
