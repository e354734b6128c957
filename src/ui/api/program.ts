/** A program that runs on the server for a page: a WebSocket that its ticket opens. */

import { offeredProtocols, readShellEvent, readStreamMessage, type ShellRequest, TICKET_HEADER } from "../../domain/shell-frames.ts";
import { CallError, unreachable } from "./call.ts";
import { sessionHeader } from "./session.ts";

/** A program that was begun. */
export interface RunningProgram {
  /** Resolves with its exit code. Rejects with CallError. */
  readonly ended: Promise<number>;
  /** Ends it with all that it started. */
  readonly end: () => void;
}

/**
 * Begins the program of a ticket, without input.
 * @param path of the WebSocket, as the answer with the ticket has it
 * @param onOutput called with text as it comes; of bytes that are none, the replacement character
 */
export function beginProgram(path: string, ticket: string, onOutput: (stream: "stdout" | "stderr", text: string) => void): RunningProgram {
  const address = new URL(path, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address, offeredProtocols({ ...sessionHeader(), [TICKET_HEADER]: ticket }));
  socket.binaryType = "arraybuffer";
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const over = Promise.withResolvers<number>();
  socket.onopen = () => socket.send(JSON.stringify({ is: "end" } satisfies ShellRequest));
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data !== "string") {
      const said = readStreamMessage(new Uint8Array(data));
      if (said && said.stream !== "stdin") onOutput(said.stream, decoders[said.stream].decode(said.bytes, { stream: true }));
      return;
    }
    const event = readShellEvent(data);
    if (event?.is === "exit") over.resolve(event.code);
    if (event?.is === "failed") over.reject(new CallError("aborted", event.message, event.hint));
  };
  // What was settled before stays so.
  socket.onclose = () => over.reject(unreachable());
  return { ended: over.promise, end: () => socket.close() };
}
