/**
 * A process that runs a project's code: its start, its output, the connections on which it talks,
 * and its end. What it is asked and what it answers is the business of who starts it.
 */

import { chmodSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { Socket, UnixSocketListener } from "bun";
import { within } from "../../python/subprocess.ts";
import { FrameReader, FrameWriter, type Message } from "./frames.ts";
import { type Launch, type LaunchEnd, type Launched, launchHere, leastLimit, type StartedProcess } from "./launch.ts";
import { OutputCapture } from "./output-capture.ts";
import type { PlainLog } from "./pool.ts";
import { type ProfileSamples, readProfile } from "./profile.ts";

/** What a process of a project is started with. */
export interface ProjectRuntime {
  /** Interpreter of the deployment's virtual environment. */
  readonly python: string;
  /** Folder that holds the package `svc`. */
  readonly sdkRoot: string;
  /** Folder of the deployment's source, without symbolic links. */
  readonly sourceRoot: string;
  /** All environment variables of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** Cap on its address space. */
  readonly memoryLimitBytes?: number;
  /** How it is started; default: on this machine. */
  readonly launch?: Launch;
  /** Whether its source is a copy of its own, which it may change. */
  readonly ownsSource?: boolean;
}

/** Settings with which a process is started. */
export interface ProcessSpec extends ProjectRuntime {
  /** The mode of `_boot.py`. */
  readonly mode: "worker" | "task" | "evaluation" | "kernel";
  /** Arguments of that mode, besides the root, the socket and the cap. */
  readonly args: readonly string[];
  /** Folder for its socket, mode 0700, with a short path. */
  readonly socketDir: string;
  /** Files that it reads, beside its source and the package. */
  readonly reads?: readonly string[];
  /** Folders that it writes, beside that of its socket. */
  readonly writes?: readonly string[];
}

/** The end of a process. */
export interface ProcessEnd extends Omit<LaunchEnd, "cpuMs"> {
  /** The last lines that it wrote to stderr. */
  readonly stderr: string;
  /** Processor time of it and its children in milliseconds; undefined when unknown. */
  readonly cpuMs?: number | undefined;
}

/** Events of a running process. */
export interface ProcessEvents {
  /** A frame that is neither a line nor samples, and the connection on which it came. */
  onMessage(message: Message, connection: Connection): void;
  onLog(line: PlainLog): void;
  /** Samples of what its code was doing. */
  onProfile(samples: ProfileSamples): void;
  /** One of its connections was closed. */
  onClosed(): void;
  /** The process has ended and all its messages and output were passed on. Called once. */
  onEnd(end: ProcessEnd): void;
}

/** A connection of a process. */
export interface Connection {
  readonly reader: FrameReader;
  readonly writer: FrameWriter;
}

/** Time to wait for frames and output after the process has ended. */
const LAST_WORDS_MS = 250;

/** A running process. */
export class PythonProcess {
  /** Resolves when the process has ended and was told of. */
  readonly ended: Promise<void>;
  private readonly launched: Launched;
  private readonly listener: UnixSocketListener<Connection>;
  private readonly sockets = new Set<Socket<Connection>>();
  private readonly quiet = Promise.withResolvers<void>();
  /** Processor time in milliseconds that its first process told of at its end. */
  private toldCpuMs: number | undefined;

  /** Starts it. Throws the system's error when that fails. */
  constructor(
    private readonly spec: ProcessSpec,
    private readonly events: ProcessEvents,
  ) {
    const path = join(spec.socketDir, `${crypto.randomUUID().slice(0, 8)}.sock`);
    this.listener = Bun.listen<Connection>({
      unix: path,
      socket: {
        open: (socket) => {
          socket.data = { reader: new FrameReader(), writer: new FrameWriter(socket) };
          this.sockets.add(socket);
        },
        data: (socket, chunk) => this.receive(socket, chunk),
        drain: (socket) => socket.data.writer.drain(),
        close: (socket) => this.closed(socket),
        error: (socket) => this.closed(socket),
      },
    });
    const flags = ["-I", "-B", "-X", "utf8", "-X", "faulthandler"];
    const limit = spec.memoryLimitBytes === undefined ? [] : ["--memory-limit", String(spec.memoryLimitBytes)];
    const boot = join(spec.sdkRoot, "svc", "_boot.py");
    const argv = [spec.python, ...flags, boot, spec.mode, "--root", spec.sourceRoot, "--socket", path, ...limit, ...spec.args];
    try {
      chmodSync(path, 0o600);
      this.launched = (spec.launch ?? launchHere)({
        ...{ argv, cwd: spec.sourceRoot, env: spec.env },
        reads: [spec.sdkRoot, ...(spec.ownsSource ? [] : [spec.sourceRoot]), ...(spec.reads ?? [])],
        writes: [spec.socketDir, ...(spec.ownsSource ? [spec.sourceRoot] : []), ...(spec.writes ?? [])],
      });
    } catch (error) {
      this.stopListening(path);
      throw error;
    }
    this.ended = this.live(path);
  }

  /** What is known of it since its start. */
  get started(): StartedProcess {
    const { memoryLimitBytes: ofContainer, pid, use } = this.launched;
    return { pid, memoryLimitBytes: leastLimit(ofContainer, this.spec.memoryLimitBytes), ...(use && { use }) };
  }

  /** Sends its process group a signal, unless it has ended. */
  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.launched.kill(signal);
  }

  /** Sends the launcher alone a signal, unless it has ended. */
  signalLauncher(signal: NodeJS.Signals): void {
    this.launched.signalLauncher(signal);
  }

  private async live(path: string): Promise<void> {
    const log = (level: PlainLog["level"], logger: string) => (text: string) =>
      this.events.onLog({ level, text, logger, resolver: "", queryId: "", timestampMs: Date.now() });
    const stdout = new OutputCapture(this.launched.stdout, log("info", "stdout"));
    const stderr = new OutputCapture(this.launched.stderr, log("warning", "stderr"));
    const end = await this.launched.ended;
    this.stopListening(path);
    stdout.hurry();
    stderr.hurry();
    const silent = Promise.all([stdout.ended, stderr.ended, this.sockets.size === 0 ? undefined : this.quiet.promise]);
    await within(LAST_WORDS_MS, silent);
    for (const socket of this.sockets) socket.terminate();
    stdout.stop();
    stderr.stop();
    this.events.onEnd({ ...end, cpuMs: end.cpuMs ?? this.toldCpuMs, stderr: stderr.tail() });
  }

  private stopListening(path: string): void {
    this.listener.stop();
    try {
      unlinkSync(path);
    } catch {
      return;
    }
  }

  private closed(socket: Socket<Connection>): void {
    this.sockets.delete(socket);
    this.events.onClosed();
    if (this.sockets.size === 0) this.quiet.resolve();
  }

  private receive(socket: Socket<Connection>, chunk: Buffer): void {
    try {
      socket.data.reader.push(chunk, (message) => this.handle(socket, message));
    } catch {
      this.kill();
    }
  }

  private handle(socket: Socket<Connection>, message: Message): void {
    switch (message.type) {
      case "LOG":
        this.events.onLog({
          level: message.level as PlainLog["level"],
          text: String(message.text),
          logger: String(message.logger),
          resolver: String(message.resolver),
          queryId: String(message.queryId),
          timestampMs: Number(message.timestampMs),
        });
        break;
      case "PROFILE":
        this.events.onProfile(readProfile(message));
        break;
      case "USED":
        if (Number.isFinite(message.cpuMs)) this.toldCpuMs = Math.max(0, Number(message.cpuMs));
        break;
      case "HELLO":
        if (message.launcher !== this.launched.launcher) socket.terminate();
        else this.events.onMessage(message, socket.data);
        break;
      default:
        this.events.onMessage(message, socket.data);
    }
  }
}
