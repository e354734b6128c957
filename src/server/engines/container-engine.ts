/**
 * A container engine, as the platform needs one: it makes containers of images, runs programs in
 * them, and says what became of them. It keeps no state of the platform's: what is whose is written
 * in labels, which the engine gives back.
 */

import type { ProgramStart, RunningProgram } from "../processes/program.ts";

/** What a container is made of. */
export interface NewContainer {
  /** Unique in the engine. */
  readonly name: string;
  readonly image: string;
  /** Program and its first arguments; empty = those of the image. */
  readonly entrypoint: readonly string[];
  /** Arguments that follow; empty = those of the image, unless there is an entrypoint. */
  readonly arguments: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** Processors; undefined = not limited. */
  readonly cpus: number | undefined;
  /** Bytes; undefined = not limited. */
  readonly memoryBytes: number | undefined;
  /** Whether it has a network. */
  readonly hasNetwork: boolean;
  /** Whether it shares this machine's network: for programs of the platform alone. */
  readonly isOnHost?: boolean;
  /** Port that this server is to reach; undefined = none. */
  readonly port: number | undefined;
  readonly mounts: readonly { readonly source: string; readonly path: string; readonly isReadOnly?: boolean }[];
  /** User and perhaps group in it; default: the image's. */
  readonly user?: string;
  /** Working folder; default: the image's. */
  readonly workdir?: string;
  /** Whether it gets a kernel of its own (gVisor). */
  readonly isRestricted: boolean;
}

/** A container, as its engine sees it. */
export interface EngineContainer {
  /** The engine's own id. */
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "created" | "running" | "exited";
  /** Once it has exited. */
  readonly exitCode: number | undefined;
  /** Whether it was ended for want of memory. */
  readonly isOutOfMemory: boolean;
  /** The engine's words about a program that could not be started; empty = none. */
  readonly error: string;
  /** Epoch milliseconds; undefined before. */
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /**
   * Where this server reaches its port: at this machine's loopback, or at an address of its own in
   * a cluster. Undefined = it has none, or does not run.
   */
  readonly address: { readonly host: string; readonly port: number } | undefined;
}

/** What a container uses. */
export interface EngineUse {
  /** Seconds of processors since it began. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

/** A line of a container's output. */
export interface EngineOutput {
  /** Where its engine does not tell them apart, all is standard output. */
  readonly stream: "stdout" | "stderr";
  /** When it was printed, in epoch microseconds. */
  readonly at: number;
  /** A line without its end. */
  readonly line: string;
}

/** A command that is run in a container. */
export interface NewExec extends Pick<ProgramStart, "terminal" | "onOutput" | "onTaken"> {
  readonly argv: readonly string[];
  /** Empty = that of the image. */
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** An image that is to be built. */
export interface NewImage {
  /** Its name with a tag. */
  readonly tag: string;
  readonly dockerfile: string;
  /** What the Dockerfile copies from: blocks of a tar, without its end and without that file. */
  readonly context: AsyncIterable<Uint8Array>;
  readonly labels: Readonly<Record<string, string>>;
  /** Called with each line of the log. */
  readonly onLine: (line: string) => void;
}

/** An image that the engine has. */
export interface EngineImage {
  /** The engine's own id. */
  readonly id: string;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Variables that its containers have. */
  readonly env: Readonly<Record<string, string>>;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** Which engine it is. */
export interface EngineDescription {
  /** For example `podman`, `docker` or `kubernetes`. */
  readonly kind: string;
  readonly version: string;
  /** Where it is reached. */
  readonly address: string;
}

/** A machine of an engine's cluster. */
export interface EngineNode {
  readonly id: string;
  readonly name: string;
  /** Version of what runs containers there. */
  readonly version: string;
  /** Whether it takes no new containers. */
  readonly isDraining: boolean;
  /** Epoch milliseconds. */
  readonly joinedAt: number;
  /** Last sign of life; undefined = none was ever seen. */
  readonly seenAt: number | undefined;
  /** For example `linux-amd64`. */
  readonly platform: string;
  readonly cpus: number;
  readonly memoryBytes: number;
}

/** A container of the platform, as its cluster sees it. */
export interface EnginePod {
  readonly labels: Readonly<Record<string, string>>;
  /** Name of its machine; empty = none has it yet. */
  readonly node: string;
  readonly status: "Starting" | "Running";
  readonly restarts: number;
}

/** Something that a cluster says of a container. */
export interface EngineEvent {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly type: "Normal" | "Warning";
  /** One word. */
  readonly reason: string;
  /** The name that the container was made with. */
  readonly container: string;
  readonly message: string;
}

/** The cluster that an engine runs containers in, where that is more than this machine. */
export interface EngineCluster {
  /** With prefix `clstr_`; stays the same. */
  readonly id: string;
  readonly name: string;
  readonly kind: "kubernetes";
  /** When it was made; undefined where this server may not know. */
  createdAt(): Promise<number | undefined>;
  /** Its machines; none where this server may not see them. */
  nodes(): Promise<readonly EngineNode[]>;
  /** Containers that have not ended. */
  pods(): Promise<readonly EnginePod[]>;
  /** What it remembers about containers of these names. */
  events(containers: readonly string[]): Promise<readonly EngineEvent[]>;
  /** What it has to be able to do; each is tried by its function, and changes nothing. */
  checks(signal: AbortSignal): Readonly<Record<string, () => Promise<void>>>;
}

/**
 * An engine. Calls reject with Failure: `not_found` for what does not exist, `invalid_argument` for
 * what the engine refuses, `unavailable` when it is not there, each in the engine's own words.
 */
export interface ContainerEngine {
  describe(signal: AbortSignal): Promise<EngineDescription>;
  /** The user in its containers, and perhaps the group, whose files are those of this server's. */
  serverUser(signal: AbortSignal): Promise<string>;
  /**
   * Makes a container, which does not run yet. Nothing is left behind when this rejects. An image
   * that is not there is fetched now, or when it is started.
   * @returns the engine's id
   */
  create(container: NewContainer, signal: AbortSignal): Promise<string>;
  /** Resolves once it runs, or has run; rejects when it cannot, and leaves it to be removed. */
  start(id: string): Promise<void>;
  /** Has an image of this name without files: a container of it has its mounts alone. */
  makeEmptyImage(name: string, signal: AbortSignal): Promise<void>;
  /** Undefined when there is none. */
  inspect(id: string): Promise<EngineContainer | undefined>;
  /** All containers with a label of this value, running or not. */
  list(label: string, value: string): Promise<EngineContainer[]>;
  /** Resolves once it does not run any more. Rejects with the signal's reason. */
  waitForEnd(id: string, signal: AbortSignal): Promise<void>;
  /** Ends its program, by force after the grace; does nothing when it has ended. @param graceMs */
  stop(id: string, graceMs: number): Promise<void>;
  /** Sends its first process a signal, such as SIGTERM; does nothing when it does not run. */
  signal(id: string, signal: string): Promise<void>;
  /** Removes it with its disk, running or not; does nothing when there is none. */
  remove(id: string): Promise<void>;
  /** Lines that it prints from a time on (epoch microseconds; 0 = all of them), to its end. */
  output(id: string, from: number, signal: AbortSignal): AsyncIterable<EngineOutput>;
  /** Runs a command in a running container that has /bin/sh. */
  exec(id: string, exec: NewExec): Promise<RunningProgram>;
  /** Undefined when it does not run, or nobody measures it. */
  use(id: string): Promise<EngineUse | undefined>;
  /**
   * Builds an image; the log comes line by line. Rejects in the engine's words when a step fails,
   * and with the signal's reason; no image of the tag is made then. A step that runs when the
   * signal comes is not always ended: what takes long is run in a container, and committed.
   */
  build(image: NewImage, signal: AbortSignal): Promise<void>;
  /**
   * Makes an image of the disk of a container, with the container's labels; what is mounted is no
   * part of it.
   */
  commit(id: string, tag: string, signal: AbortSignal): Promise<void>;
  /** An image by its name, fetched when it is not there. */
  fetchImage(name: string, signal: AbortSignal): Promise<EngineImage>;
  /** An image that is there, by its name; undefined when it is not. */
  image(name: string): Promise<EngineImage | undefined>;
  /** All images with a label of this value. */
  images(label: string, value: string): Promise<EngineImage[]>;
  /** Removes an image by its name, if there is one; false when a container has it. */
  removeImage(name: string): Promise<boolean>;
  /** Absent where its containers run on this machine. */
  readonly cluster?: EngineCluster;
}
