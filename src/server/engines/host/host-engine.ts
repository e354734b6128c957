/**
 * The server's own machine as an engine: programs that nothing isolates, each a process group with
 * a supervisor of its own, so that it goes on without the server and is found again. What only a
 * container could keep is refused.
 */

import { statSync } from "node:fs";
import { createServer } from "node:net";
import { release } from "node:os";
import { join } from "node:path";
import { killGroup, within } from "../../../python/subprocess.ts";
import { Failure, outOfSpace } from "../../failure.ts";
import { newId } from "../../identifier.ts";
import type { RunningProgram } from "../../processes/program.ts";
import { startShellProcess } from "../../shells/shell-process.ts";
import { ownProgram } from "../../thread/own-program.ts";
import type { ContainerEngine, EngineContainer, NewContainer, NewExec } from "../container-engine.ts";
import { MARK } from "../exec-mark.ts";
import {
  type HostOrder,
  type HostState,
  hostIds,
  isHostId,
  ownWorkFolder,
  readOrder,
  readState,
  removeFolder,
  writeOrder,
  writeState,
} from "./host-files.ts";
import { hostFolder } from "./host-image.ts";
import { readOutput } from "./output-files.ts";
import { environmentOf, isRunning, killMarked, markedProcesses, signal as send, useOf } from "./process-table.ts";
import { HOST_MARK, SUPERVISOR_VERB, type Supervised, type SupervisorAnswer } from "./supervisor.ts";

const LOOPBACK = "127.0.0.1";
const USUAL_PATH = "/usr/local/bin:/usr/bin:/bin";
/** What a command that is not there says, and its exit code, as in a container. */
const RUN = 'exec "$@"';
/** Milliseconds between two looks at a program: at first, and after a while. */
const LOOK_MS = 20;
const MOST_LOOK_MS = 500;
/** Longest wait for a supervisor that is told to start a program, or that has to end. */
const ANSWER_MS = 30_000;
const END_MS = 10_000;
/** Milliseconds for which one look at all processes counts: a group's are measured together. */
const LOOKED_MS = 200;
const MOST_ANSWER = 4_096;
const MOST_TRIES = 20;
const KILLED = 137;

/** What a driver needs. */
export interface HostEngineOptions {
  /** Folder of all its programs. */
  readonly folder: string;
  /** The variables of the server, of which programs are given PATH alone. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Makes the driver. Throws Failure failed_precondition where there is no /proc to find them by. */
export function createHostEngine({ folder, env }: HostEngineOptions): ContainerEngine {
  if (process.platform !== "linux")
    throw new Failure("failed_precondition", `Programs of the server's own machine run on Linux alone; this is ${process.platform}.`, {
      hint: "Name an image that a container engine runs.",
    });
  const path = env.PATH ?? USUAL_PATH;
  const of = (id: string): string => join(folder, id);
  /** Variables of programs that were made and not started: they are in no file. */
  const variables = new Map<string, Readonly<Record<string, string>>>();
  /** Ends of the supervisors that this process started. */
  const ends = new Map<string, Promise<unknown>>();
  const ports = new Set<number>();
  let looked = { at: Number.NEGATIVE_INFINITY, marked: new Map<string, number[]>() };

  const orderOf = (id: string): HostOrder | undefined => (isHostId(id) ? readOrder(of(id)) : undefined);
  const required = (id: string): HostOrder => {
    const order = orderOf(id);
    if (order) return order;
    throw new Failure("not_found", `There is no program ${id.slice(0, 100)} of this machine.`);
  };
  /** How a program is. One that was cut off from its supervisor is ended. */
  const settled = (id: string): HostState | undefined => {
    const state = readState(of(id));
    if (!state || state.exitCode !== undefined || isRunning(state.supervisor)) return state;
    // The end may have been written since.
    const again = readState(of(id)) ?? state;
    if (again.exitCode !== undefined) return again;
    killMarked(HOST_MARK, id);
    const error = "It was cut off: its supervisor was killed, or the machine began anew";
    const ended = { ...again, exitCode: KILLED, endedAt: Date.now(), error };
    if (orderOf(id)) writeState(of(id), ended);
    return ended;
  };
  const seen = (id: string): EngineContainer | undefined => {
    const order = orderOf(id);
    if (!order) return undefined;
    const state = settled(id);
    const isOver = state?.exitCode !== undefined;
    return {
      ...{ id, name: order.name, labels: order.labels, isOutOfMemory: false, error: state?.error ?? "" },
      state: state === undefined ? "created" : isOver ? "exited" : "running",
      ...{ exitCode: state?.exitCode, startedAt: state?.startedAt, endedAt: state?.endedAt },
      address: state !== undefined && !isOver && order.port !== undefined ? { host: LOOPBACK, port: order.port } : undefined,
    };
  };
  const isOver = (id: string): boolean => seen(id)?.state !== "running";
  const ended = async (id: string, aborted: AbortSignal): Promise<void> => {
    for (let wait = LOOK_MS; !isOver(id); wait = Math.min(wait * 2, MOST_LOOK_MS)) {
      const abort = Promise.withResolvers<never>();
      const onAbort = (): void => abort.reject(aborted.reason);
      aborted.addEventListener("abort", onAbort, { once: true });
      try {
        aborted.throwIfAborted();
        await Promise.race([ends.get(id) ?? Bun.sleep(wait), Bun.sleep(MOST_LOOK_MS), abort.promise]);
      } finally {
        aborted.removeEventListener("abort", onAbort);
      }
    }
  };
  const killed = async (id: string): Promise<void> => {
    killMarked(HOST_MARK, id);
    await ended(id, AbortSignal.timeout(END_MS)).catch(() => undefined);
  };
  const freePort = async (): Promise<number> => {
    const taken = new Set([...ports, ...(await hostIds(folder)).map((id) => orderOf(id)?.port)]);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const port = await unusedPort();
      if (taken.has(port)) continue;
      ports.add(port);
      return port;
    }
    throw new Failure("resource_exhausted", "This machine has no free port for the program.");
  };

  return {
    ...NO_IMAGES,

    async describe() {
      return { kind: "host", version: release(), address: folder };
    },

    serverUser: async () => `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,

    async create(container, aborted) {
      const argv = [...container.entrypoint, ...container.arguments];
      refuseUnkept(container, argv);
      const given = hostFolder(container.image);
      if (given !== undefined && !statSync(given, { throwIfNoEntry: false })?.isDirectory())
        throw new Failure("not_found", `There is no folder ${given} on the server's machine.`, {
          hint: "`host:` alone runs a program in a folder of its own.",
        });
      aborted.throwIfAborted();
      const id = newId("host", Date.now());
      const port = container.port === undefined ? undefined : await freePort();
      const { labels, name } = container;
      try {
        writeOrder(of(id), {
          name,
          labels,
          argv,
          folder: container.workdir ?? given ?? ownWorkFolder(of(id)),
          ...(port !== undefined && { port }),
        });
      } catch (error) {
        await removeFolder(of(id));
        throw outOfSpace(error, folder) ?? error;
      } finally {
        if (port !== undefined) ports.delete(port);
      }
      variables.set(id, container.env);
      return id;
    },

    async start(id) {
      const { argv, folder: cwd, port } = required(id);
      const own = variables.get(id);
      if (!own) throw new Failure("failed_precondition", "The program was made by a server that has ended before it started it.");
      variables.delete(id);
      const all = {
        ...{ PATH: path, LANG: "C.UTF-8", HOME: ownWorkFolder(of(id)), ...own, [HOST_MARK]: id },
        ...(port !== undefined && { PORT: String(port) }),
      };
      const [name = "", ...words] = argv;
      const program = Bun.which(name, { PATH: all.PATH, cwd });
      if (program === null)
        throw new Failure("invalid_argument", `There is no program '${name.slice(0, 200)}' on the server's machine.`, {
          hint: "Name one that the server's PATH finds, or an absolute path.",
        });
      const supervised: Supervised = { id, folder: of(id), argv: [program, ...words], cwd, env: all };
      const supervisor = Bun.spawn([...ownProgram(), SUPERVISOR_VERB], {
        ...{ cwd: "/", env: { PATH: path, HOME: of(id) }, detached: true },
        ...{ stdin: new Blob([JSON.stringify(supervised)]), stdout: "pipe", stderr: "ignore" },
      });
      supervisor.unref();
      const { error } = await answerOf(supervisor);
      if (error !== undefined) {
        killMarked(HOST_MARK, id);
        throw new Failure("invalid_argument", `The program '${name.slice(0, 200)}' could not be started: ${error}.`);
      }
      ends.set(id, supervisor.exited);
    },

    inspect: async (id) => seen(id),

    async list(label, value) {
      const all = (await hostIds(folder)).map(seen);
      return all.filter((one) => one !== undefined).filter(({ labels }) => labels[label] === value);
    },

    waitForEnd: ended,

    async stop(id, graceMs) {
      const state = orderOf(id) && settled(id);
      if (!state || state.exitCode !== undefined) return;
      if (state.program && isRunning(state.program)) killGroup(state.program.pid, "SIGTERM");
      const grace = AbortSignal.timeout(graceMs);
      await ended(id, grace).catch(() => undefined);
      if (!isOver(id)) await killed(id);
    },

    async signal(id, name) {
      const program = orderOf(id) && settled(id)?.program;
      if (program && isRunning(program)) send(program.pid, name as NodeJS.Signals);
    },

    async remove(id) {
      variables.delete(id);
      if (!orderOf(id)) return;
      if (!isOver(id)) await killed(id);
      const supervisor = readState(of(id))?.supervisor;
      // One that is stuck must not write into what was removed.
      if (supervisor && isRunning(supervisor) && !isOver(id)) send(supervisor.pid, "SIGKILL");
      ends.delete(id);
      await removeFolder(of(id));
    },

    async *output(id, from, aborted) {
      if (orderOf(id)) yield* readOutput(of(id), from, () => isOver(id), aborted);
    },

    async exec(id, exec) {
      const { folder: cwd } = required(id);
      const program = settled(id)?.program;
      const own = program && isRunning(program) ? environmentOf(program.pid) : undefined;
      if (!own) throw new Failure("failed_precondition", "The program does not run any more.");
      return startExec(exec, cwd, own);
    },

    async use(id) {
      if (isOver(id)) return undefined;
      if (performance.now() > looked.at + LOOKED_MS) looked = { at: performance.now(), marked: markedProcesses(HOST_MARK) };
      return useOf(looked.marked.get(id) ?? []);
    },
  };
}

const noImages = (): never => {
  throw new Failure("failed_precondition", "The server's own machine has no images, and makes none.", {
    hint: "A container engine does: Podman or Docker.",
  });
};

/** What is done with images. */
const NO_IMAGES: Pick<ContainerEngine, "build" | "commit" | "fetchImage" | "image" | "images" | "makeEmptyImage" | "removeImage"> = {
  makeEmptyImage: async () => noImages(),
  build: async () => noImages(),
  commit: async () => noImages(),
  fetchImage: async () => noImages(),
  image: async () => undefined,
  images: async () => [],
  removeImage: async () => true,
};

/** Throws Failure failed_precondition for what a process of this machine could not keep. */
function refuseUnkept({ cpus, hasNetwork, isRestricted, memoryBytes, mounts, user }: NewContainer, argv: readonly string[]): void {
  const cannot = (what: string, hint: string): never => {
    throw new Failure("failed_precondition", what, { hint });
  };
  if ((argv[0] ?? "") === "")
    throw new Failure("invalid_argument", "`host:` is no image: it has no program of its own.", {
      hint: "Name the program with --entrypoint, or after --.",
    });
  if (!hasNetwork)
    cannot("A program of the server's own machine has its network, its files and its user, so it is no sandbox.", "Name an image.");
  if (memoryBytes !== undefined || cpus !== undefined)
    cannot(
      "No limit of processors or memory is kept for a program of the server's own machine.",
      "Leave --cpu and --memory out, or name an image.",
    );
  if (mounts.length > 0)
    cannot(
      `A program of the server's own machine sees its folders as they are: a volume cannot be at ${mounts[0]?.path}.`,
      "Name a folder of the machine as its working folder, host:/path, or tell it one by a variable.",
    );
  if (user !== undefined) cannot("A program of the server's own machine has the server's user.", "Name an image.");
  if (isRestricted) cannot("A program of the server's own machine has the kernel of the machine.", "Leave --kernel-policy restricted out.");
}

/** What a supervisor says of the program that it was told to start. */
async function answerOf({ stdout }: Bun.Subprocess<Blob, "pipe", "ignore">): Promise<SupervisorAnswer> {
  let said = "";
  const read = async (): Promise<void> => {
    for await (const bytes of stdout) {
      said += Buffer.from(bytes).toString();
      if (said.includes("\n") || said.length > MOST_ANSWER) return;
    }
  };
  await within(ANSWER_MS, read());
  try {
    return JSON.parse(said) as SupervisorAnswer;
  } catch {
    return { error: "what supervises it said nothing" };
  }
}

/** Runs a command beside a program, with its variables. Throws the system's error. */
function startExec({ argv, env, workdir, ...streams }: NewExec, folder: string, own: Readonly<Record<string, string>>): RunningProgram {
  const mark = newId("exec", Date.now());
  const process = startShellProcess({
    ...streams,
    argv: ["/bin/sh", "-c", RUN, "sh", ...argv],
    cwd: workdir || folder,
    env: { ...own, ...env, [MARK]: mark },
  });
  return {
    ...process,
    async kill() {
      killMarked(MARK, mark);
      await process.kill();
    },
  };
}

/** A port of this machine that nobody listens on. */
async function unusedPort(): Promise<number> {
  const { promise, reject, resolve } = Promise.withResolvers<number>();
  const server = createServer()
    .once("error", reject)
    .listen(0, LOOPBACK, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  return promise;
}
