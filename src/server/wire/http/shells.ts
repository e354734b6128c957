/**
 * `GET /v1/shells` and `GET /v1/sandboxes/exec`: the WebSockets of shells, and of commands in
 * containers. Who opens one is known by token and ticket before the connection is upgraded; the
 * program ends with the credentials that it was opened with.
 */

import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import {
  headersOffered,
  readShellRequest,
  readStreamMessage,
  SHELL_PROTOCOL,
  type ShellEvent,
  STDIN_WINDOW,
  streamMessage,
  TICKET_HEADER,
} from "../../../domain/shell-frames.ts";
import { authorize } from "../../access/authorize.ts";
import type { Caller } from "../../access/tokens.ts";
import type { Execs } from "../../containers/execs.ts";
import { Failure } from "../../failure.ts";
import type { Log } from "../../log.ts";
import type { RunningProgram } from "../../processes/program.ts";
import type { Shell } from "../../shells/shells.ts";
import type { Connection } from "../connection.ts";
import type { Platform } from "../platform.ts";
import type { SocketHandler, SocketPeer } from "../socket.ts";
import { jsonError, methodNotAllowed } from "./respond.ts";

/** Milliseconds without input and output after which a shell ends. */
const IDLE_MS = 1_800_000;
/** Bytes of output that wait when it is held back, and when it flows again. */
const HIGH_WATER = 1024 * 1024;
const LOW_WATER = 256 * 1024;
/** Bytes of output that wait when a shell ends that cannot be held back. */
const MOST_WAITING = 16 * 1024 * 1024;
/** Most messages of a client before its program began. */
const MOST_EARLY = 1_000;
const NORMAL = 1000;

/** Answers a request for the WebSocket of a shell. */
export function openShell(platform: Platform, request: Request, connection: Connection): Promise<Response> {
  return open(platform, request, connection, { permission: Permission.SHELL, command: "svc shell", tickets: platform.shells });
}

/** Answers a request for the WebSocket of a command in a sandbox or another container. */
export function openExec(platform: Platform, request: Request, connection: Connection): Promise<Response> {
  const tickets = async (): Promise<Pick<Execs, "redeem">> => (await platform.containers()).execs;
  return open(platform, request, connection, { permission: Permission.CONTAINERS_WRITE, command: "svc sandbox exec", tickets });
}

/** What a WebSocket is opened for. */
interface Opening {
  readonly permission: Permission;
  /** The command that opens it. */
  readonly command: string;
  readonly tickets: () => Promise<{ redeem(ticket: string, caller: Caller): Shell }>;
}

async function open(platform: Platform, request: Request, connection: Connection, opening: Opening): Promise<Response> {
  if (request.method !== "GET") return methodNotAllowed("GET");
  const { command, permission, tickets } = opening;
  const offered = headersOffered(request.headers.get("sec-websocket-protocol") ?? "");
  const headers = offered ? new Headers([...request.headers, ...Object.entries(offered)]) : request.headers;
  const caller = await authorize(platform.callers, headers, permission);
  if (!caller) throw new Error("programs need credentials");
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket" || !connection.upgrade)
    return jsonError(426, "upgrade_required", `This is a WebSocket; \`${command}\` opens one.`, { upgrade: "websocket" });
  const shell = (await tickets()).redeem(headers.get(TICKET_HEADER) ?? "", caller);
  let stream: ReturnType<Platform["openStreams"]["open"]> | undefined;
  try {
    stream = platform.openStreams.open(caller, headers);
    const over = AbortSignal.any([stream.signal, shell.halted]);
    const socket = createShellSocket(shell, { over, stopping: platform.stopping, release: stream.close, log: platform.log });
    if (connection.upgrade(socket, offered && SHELL_PROTOCOL)) return new Response(null, { status: 101 });
    throw new Failure("invalid_argument", "The request cannot be upgraded to a WebSocket.");
  } catch (error) {
    stream?.close();
    await shell.close();
    throw error;
  }
}

/** What a shell's WebSocket depends on. */
interface ShellSurroundings {
  /** Ends it, with a reason in words. */
  readonly over: AbortSignal;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
  /** Called once it has ended. */
  readonly release: () => void;
  readonly log: Log;
}

/** The handler of a shell's WebSocket. */
function createShellSocket(shell: Shell, { over, stopping, release, log }: ShellSurroundings): SocketHandler {
  let peer: SocketPeer | undefined;
  let process: RunningProgram | undefined;
  /** Bytes of input that were not taken yet, and messages that came before the program began. */
  let untaken = 0;
  const early: ((process: RunningProgram) => void)[] = [];
  let isHeld = false;
  let flows = Promise.withResolvers<void>();
  let idle: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  const say = (event: ShellEvent): void => peer?.send(JSON.stringify(event));
  const touch = (): void => {
    clearTimeout(idle);
    if (!isOver) idle = setTimeout(() => fail(new Failure("aborted", "Nothing was typed or shown for 30 minutes.")), IDLE_MS);
  };
  const finish = async (last: ShellEvent | undefined): Promise<void> => {
    if (isOver) return;
    isOver = true;
    clearTimeout(idle);
    over.removeEventListener("abort", onOver);
    stopping.removeEventListener("abort", onStopping);
    if (last) say(last);
    peer?.close(NORMAL, "");
    flows.resolve();
    release();
    await shell.close();
  };
  const fail = (reason: unknown): void => {
    const isTold = reason instanceof Failure;
    if (!isTold && !over.aborted) log.error("a shell failed", { shell: shell.id, error: errorText(reason) });
    const message = isTold ? reason.message : errorText(reason);
    void finish({ is: "failed", message, hint: isTold ? (reason.detail.hint ?? "") : "" });
  };
  const onOver = (): void => fail(over.reason);
  const onStopping = (): void => fail(new Failure("unavailable", "The server stops."));

  const onOutput = (stream: "stdout" | "stderr", bytes: Uint8Array): void | Promise<void> => {
    if (!peer || isOver) return;
    touch();
    peer.send(streamMessage(stream, bytes));
    if (peer.waiting() > MOST_WAITING)
      return fail(new Failure("resource_exhausted", "Its output came faster than the connection takes it."));
    if (peer.waiting() <= HIGH_WATER) return;
    if (!isHeld) {
      isHeld = process?.pause() ?? false;
      flows = Promise.withResolvers();
    }
    return isHeld ? flows.promise : undefined;
  };
  const onTaken = (bytes: number): void => {
    untaken -= bytes;
    if (!isOver && bytes > 0) say({ is: "taken", bytes });
  };
  const run = async (): Promise<void> => {
    const begun = await shell.start({ onOutput, onTaken });
    process = begun;
    say({ is: "opened", id: shell.id });
    for (const act of early.splice(0)) act(begun);
    const code = await begun.ended;
    await finish({ is: "exit", code });
  };
  /** What a message asks for; undefined for one that is none of a shell. */
  const asked = (message: string | Uint8Array): ((process: RunningProgram) => void) | undefined => {
    if (typeof message === "string") {
      const request = readShellRequest(message);
      if (request?.is === "resize") return ({ resize }) => resize(request.columns, request.rows);
      return request && (({ endInput }) => endInput());
    }
    const sent = readStreamMessage(message);
    return sent?.stream === "stdin" ? ({ write }) => write(sent.bytes) : undefined;
  };

  return {
    opened(opened) {
      peer = opened;
      over.addEventListener("abort", onOver, { once: true });
      stopping.addEventListener("abort", onStopping, { once: true });
      if (over.aborted) return onOver();
      if (stopping.aborted) return onStopping();
      touch();
      run().catch(fail);
    },
    received(message) {
      if (isOver) return;
      touch();
      if (typeof message !== "string") untaken += Math.max(0, message.length - 1);
      const act = asked(message);
      if (!act) fail(new Failure("invalid_argument", "A message on the connection is none of a shell."));
      else if (untaken > 2 * STDIN_WINDOW || early.length >= MOST_EARLY)
        fail(new Failure("resource_exhausted", "Its input came faster than the program takes it."));
      else if (process) act(process);
      else early.push(act);
    },
    drained() {
      if (!isHeld || (peer?.waiting() ?? 0) > LOW_WATER) return;
      isHeld = false;
      process?.resume();
      flows.resolve();
    },
    closed: () => void finish(undefined),
  };
}
