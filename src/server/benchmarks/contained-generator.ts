/**
 * A load generator in a container, whose engine keeps it to limits of processors and memory. Its
 * image has no files: it sees this program, the libraries of this machine and its own folder, the
 * first two read-only. It shares the machine's network, because the query endpoint is there.
 */

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerEngine } from "../engines/container-engine.ts";
import { JobFailed } from "../jobs/runner.ts";
import { ownProgram } from "../thread/own-program.ts";
import { GENERATOR_VERB, LOAD_FILES, type LoadEnd, type LoadSettings, type LoadStatus } from "./load-generator.ts";
import type { BenchmarkMeasure } from "./result-file.ts";

/** The image without files, in the engine. */
const IMAGE = "localhost/svc-load";
/** The label of these containers; its value is the folder of all runs, which one server has. */
const LABEL = "svc.load";
const PROGRAM = "/svc/svc";
const FOLDER = "/svc/run";
/** Where the libraries of a machine are. */
const LIBRARIES = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];
const LOOK_MS = 500;

/** The limits of a container. */
export interface LoadLimits {
  /** Undefined = not limited. */
  readonly cpus: number | undefined;
  readonly memoryBytes: number;
}

/** What a load is made with. */
export interface ContainedLoad {
  readonly id: string;
  /** The folder of the run, and that of all runs. */
  readonly own: string;
  readonly folder: string;
  readonly settings: LoadSettings;
  readonly limits: LoadLimits;
}

/** Whether this program can run in a container: it is one file. */
export const isOneFile = (): boolean => ownProgram().length === 1;

/**
 * Makes a load in a container, and removes that at its end. Rejects with JobFailed in the engine's
 * words, or those of the generator.
 */
export async function generateInContainer(
  engine: ContainerEngine,
  { id, own, folder, settings, limits }: ContainedLoad,
  onStatus: (status: LoadStatus) => Promise<unknown>,
  signal: AbortSignal,
): Promise<BenchmarkMeasure> {
  const refused = (error: unknown): never => {
    signal.throwIfAborted();
    throw error instanceof JobFailed
      ? error
      : new JobFailed(`the load generator has no container: ${error instanceof Error ? error.message : error}`);
  };
  // What a server left behind that was killed.
  for (const left of await engine.list(LABEL, folder).catch(refused)) await engine.remove(left.id).catch(refused);
  await writeFile(join(own, LOAD_FILES.settings), JSON.stringify({ ...settings, inputs: settings.inputs.replace(own, FOLDER) }), {
    mode: 0o600,
  });
  await engine.makeEmptyImage(IMAGE, signal).catch(refused);
  const mounts = [
    { source: ownProgram()[0] as string, path: PROGRAM, isReadOnly: true },
    { source: own, path: FOLDER },
    ...LIBRARIES.filter((path) => existsSync(path)).map((path) => ({ source: path, path, isReadOnly: true })),
  ];
  const container = await engine
    .create(
      {
        ...{ name: `svc-load-${id}`, image: `${IMAGE}:latest`, entrypoint: [PROGRAM], arguments: [GENERATOR_VERB, FOLDER] },
        env: { HOME: FOLDER, TMPDIR: FOLDER, TZ: "UTC", LANG: "C.UTF-8", DO_NOT_TRACK: "1" },
        ...{ labels: { [LABEL]: folder }, ...limits, mounts, hasNetwork: true, isOnHost: true, port: undefined, isRestricted: false },
      },
      signal,
    )
    .catch(refused);
  const over = new AbortController();
  try {
    await engine.start(container).catch(refused);
    const ended = engine.waitForEnd(container, AbortSignal.any([signal, over.signal])).then(() => true);
    ended.catch(() => undefined);
    while (!(await Promise.race([ended, Bun.sleep(LOOK_MS).then(() => false)]))) {
      const status = await said<LoadStatus>(own, LOAD_FILES.status);
      if (status) await onStatus(status);
    }
    const end = await said<LoadEnd>(own, LOAD_FILES.end);
    if (end && "measure" in end) return end.measure;
    if (end)
      throw new JobFailed(end.thrown.name === "FirstQueryFailed" ? `its first query failed: ${end.thrown.message}` : end.thrown.message);
    const state = await engine.inspect(container);
    const how = state?.isOutOfMemory ? "needed more memory than its limit" : `ended with code ${state?.exitCode} and said nothing`;
    throw new JobFailed(`the load generator ${how}${state?.error ? `: ${state.error}` : ""}`);
  } catch (error) {
    return refused(error);
  } finally {
    over.abort();
    await engine.remove(container).catch(() => undefined);
  }
}

/** What the generator said in a file; undefined when it has not yet. */
async function said<T>(own: string, name: string): Promise<T | undefined> {
  const text = await readFile(join(own, name), "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}
