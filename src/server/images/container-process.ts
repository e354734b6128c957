/**
 * Processes of a project's code, and programs beside them, each in a container of its own, which
 * ends with it.
 */

import { randomUUID } from "node:crypto";
import { constants } from "node:os";
import { errorText } from "../../domain/error-text.ts";
import { NOTHING_BUT_WAIT, shellLess } from "../containers/waiting.ts";
import type { ContainerEngine, EngineContainer, NewContainer } from "../engines/container-engine.ts";
import type { StartContained } from "../processes/program.ts";
import type { Launch, LaunchEnd, LaunchOrder, LaunchUse } from "../python/launch.ts";

/** What such containers have in common. */
export interface ContainerPlace extends Pick<NewContainer, "image" | "labels" | "cpus" | "memoryBytes" | "hasNetwork"> {
  readonly engine: ContainerEngine;
  /** Whose files are those of this server's user. */
  readonly user: string;
  /** The limit of memory as people wrote it; empty = none. */
  readonly memory: string;
}

/** Exit codes from here on are those of signals. */
const SIGNALLED = 128;
const SIGKILL = "SIGKILL";

/** Starts processes in containers: folders have the paths there that they have here. */
export function launchIn(place: ContainerPlace): Launch {
  const { engine, memory, memoryBytes } = place;
  return (order) => {
    const stdout = openStream();
    const stderr = openStream();
    const killed = new AbortController();
    let id: string | undefined;
    let isStarted = false;

    const live = async (): Promise<LaunchEnd> => {
      const { signal } = new AbortController();
      id = await engine.create(containerAt(place, order), killed.signal);
      killed.signal.throwIfAborted();
      await engine.start(id);
      isStarted = true;
      const output = follow(engine, id, { stdout, stderr });
      if (killed.signal.aborted) await engine.signal(id, SIGKILL);
      await engine.waitForEnd(id, signal);
      const last = await engine.inspect(id);
      await output;
      return endOf(last, memory, killed.signal.aborted);
    };
    const ended = live()
      .catch(
        (error: unknown): LaunchEnd => ({
          exitCode: undefined,
          how: killed.signal.aborted ? `was killed by ${SIGKILL}` : `could not be started in a container: ${errorText(error)}`,
          cpuMs: undefined,
        }),
      )
      .finally(async () => {
        stdout.close();
        stderr.close();
        if (id !== undefined) await engine.remove(id).catch(() => undefined);
      });
    const signalFirst = (signal: NodeJS.Signals): void => {
      if (id !== undefined) void engine.signal(id, signal).catch(() => undefined);
    };
    return {
      ...{ pid: 0, memoryLimitBytes: memoryBytes, launcher: 1, stdout: stdout.stream, stderr: stderr.stream, ended },
      use: async () => (id === undefined ? undefined : useOf(engine, id)),
      kill(signal) {
        if (signal === SIGKILL || !isStarted) killed.abort();
        signalFirst(signal);
      },
      signalLauncher: signalFirst,
    };
  };
}

/** Starts programs in containers that wait for nothing else, and are removed with them. */
export function startContainedAt(place: ContainerPlace): StartContained {
  const { engine, image, memoryBytes } = place;
  return async ({ argv, cwd, env, onOutput, onTaken, reads, terminal, writes }, signal) => {
    const id = await engine.create(containerAt(place, { argv: NOTHING_BUT_WAIT, cwd, env: {}, reads, writes }), signal);
    const remove = (): Promise<void> => engine.remove(id).catch(() => undefined);
    try {
      await engine.start(id);
      signal.throwIfAborted();
      const program = await engine.exec(id, { argv, env, workdir: cwd, terminal, onOutput, onTaken });
      return {
        ...program,
        ...{ pid: 0, memoryLimitBytes: memoryBytes, use: () => useOf(engine, id) },
        ended: program.ended.finally(remove),
        async kill() {
          await program.kill();
          await remove();
        },
      };
    } catch (error) {
      await remove();
      throw shellLess(image, "a shell", error);
    }
  };
}

/** The container of a process, with its folders. */
function containerAt(
  { cpus, hasNetwork, image, labels, memoryBytes, user }: ContainerPlace,
  { argv: [program = "", ...args], cwd, env, reads, writes }: LaunchOrder,
): NewContainer {
  const mounts = [
    ...reads.map((source) => ({ source, path: source, isReadOnly: true })),
    ...writes.map((source) => ({ source, path: source })),
  ];
  return {
    ...{ name: `svc-process-${randomUUID()}`, image, labels, cpus, memoryBytes, hasNetwork, mounts, env },
    ...{ entrypoint: [program], arguments: args, workdir: cwd, user, port: undefined, isRestricted: false },
  };
}

/** What a container uses; undefined when it does not run, or its engine does not answer. */
async function useOf(engine: ContainerEngine, id: string): Promise<LaunchUse | undefined> {
  const used = await engine.use(id).catch(() => undefined);
  return used && { cpuMs: used.cpuSeconds * 1000, memoryBytes: used.memoryBytes };
}

/** How the container of a process ended. */
function endOf(last: EngineContainer | undefined, memory: string, isKilled: boolean): LaunchEnd {
  const code = last?.exitCode;
  const end = (how: string, exitCode?: number): LaunchEnd => ({ exitCode, how, cpuMs: undefined });
  if (code === undefined) return end("was removed by its container engine");
  if (code <= SIGNALLED) return end(`exited with code ${code}`, code);
  const name = Object.entries(constants.signals).find(([, number]) => number === code - SIGNALLED)?.[0];
  if (name === undefined) return end(`exited with code ${code}`, code);
  if (name !== SIGKILL || isKilled || memory === "") return end(`was killed by ${name}`);
  return end(
    last?.isOutOfMemory
      ? `was killed because it used more memory than it may, ${memory}`
      : `was killed; it may have used more memory than it may, ${memory}`,
  );
}

/** Hands over what the container prints, to its end. */
async function follow(
  engine: ContainerEngine,
  id: string,
  streams: Readonly<Record<"stdout" | "stderr", { write(line: string): void }>>,
): Promise<void> {
  try {
    for await (const { line, stream } of engine.output(id, 0, new AbortController().signal)) streams[stream].write(line);
  } catch {
    // What it printed is no part of its end.
  }
}

/** A stream of lines. */
function openStream() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
    cancel() {
      controller = undefined;
    },
  });
  return {
    stream,
    write: (line: string): void => controller?.enqueue(Buffer.from(`${line}\n`)),
    close(): void {
      controller?.close();
      controller = undefined;
    },
  };
}
