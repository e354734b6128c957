/** A shell from its connection to its end: bytes both ways, sizes, and the exit code. */

import type { Socket } from "../client/api.ts";
import type { Attached } from "../context/attached.ts";
import { MAX_CHUNK, readShellEvent, readStreamMessage, type ShellRequest, STDIN_WINDOW, streamMessage } from "../domain/shell-frames.ts";
import { CliError } from "../errors/cli-error.ts";
import type { DebugLog } from "./debug-log.ts";
import { EscapeKeys } from "./escape-keys.ts";

const NEW_LINE = new TextEncoder().encode("\r\n");
/** Exit code after `~.`: that of a terminal which was closed. */
const HUNG_UP = 129;

/**
 * Runs a shell over its connection to its end; resolves with the exit code. Rejects with CliError.
 */
export async function runShell(socket: Socket, attached: Attached, log: DebugLog, signal: AbortSignal): Promise<number> {
  const keys = new EscapeKeys();
  let untaken = 0;
  let room: () => void = () => undefined;
  let isOver = false;

  const say = (request: ShellRequest): void => {
    log.note(">", request);
    socket.send(JSON.stringify(request));
  };
  const sendInput = async (bytes: Uint8Array): Promise<void> => {
    for (let at = 0; at < bytes.length && !isOver; at += MAX_CHUNK) {
      const chunk = bytes.subarray(at, at + MAX_CHUNK);
      while (untaken + chunk.length > STDIN_WINDOW && !isOver)
        await new Promise<void>((resolve) => {
          room = resolve;
        });
      untaken += chunk.length;
      log.note(">", { is: "stdin", bytes: chunk.length });
      socket.send(streamMessage("stdin", chunk));
    }
  };
  /** Passes input on; resolves with true when the user ends the shell by `~.`. */
  const input = async (): Promise<boolean> => {
    for (let bytes = await attached.read(); bytes && !isOver; bytes = await attached.read()) {
      const taken = attached.isTerminal ? keys.take(bytes) : { bytes, isEnd: false };
      await sendInput(taken.bytes);
      if (taken.isEnd) return true;
    }
    if (!isOver && !attached.isTerminal) say({ is: "end" });
    return false;
  };
  const output = async (): Promise<number> => {
    for (let message = await socket.receive(); message !== undefined; message = await socket.receive()) {
      if (typeof message !== "string") {
        const shown = readStreamMessage(message);
        if (!shown || shown.stream === "stdin")
          throw new CliError("the server sent what is no message of a shell", { code: "broken_answer" });
        log.note("<", { is: shown.stream, bytes: shown.bytes.length });
        await attached.write(shown.stream, shown.bytes);
        continue;
      }
      const event = readShellEvent(message);
      if (!event) throw new CliError("the server sent what is no message of a shell", { code: "broken_answer" });
      log.note("<", event);
      if (event.is === "taken") {
        untaken -= event.bytes;
        room();
      }
      if (event.is === "exit") return event.code;
      if (event.is === "failed")
        throw new CliError(`the shell ended: ${event.message}`, { code: "shell_failed", hint: event.hint || undefined });
    }
    throw new CliError("the connection to the shell was lost", {
      code: "connection_lost",
      hint: "What ran in it was ended. `svc shell` opens another one.",
    });
  };

  const interrupted = Promise.withResolvers<never>();
  const stop = (): void => interrupted.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  attached.onResize(() => say({ is: "resize", columns: attached.columns, rows: attached.rows }));
  const typed = input();
  const hungUp = new Promise<number>((resolve, reject) => {
    typed.then((isEnd) => isEnd && resolve(HUNG_UP)).catch(reject);
  });
  try {
    return await Promise.race([output(), hungUp, interrupted.promise]);
  } catch (error) {
    // Below what the program has shown, and not behind its prompt.
    if (attached.isTerminal) await attached.write("stdout", NEW_LINE);
    throw error;
  } finally {
    isOver = true;
    room();
    signal.removeEventListener("abort", stop);
    log.note("-", { is: "closed" });
    socket.close();
  }
}
