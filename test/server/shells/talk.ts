/** A shell over its WebSocket, as tests talk to it. */

import { expect } from "bun:test";
import { readShellEvent, readStreamMessage, type ShellEvent, type ShellRequest, streamMessage } from "../../../src/domain/shell-frames.ts";
import { eventually } from "../../harness/eventually.ts";

/** A shell as a test talks to it. */
export class Talk {
  out = "";
  err = "";
  readonly events: ShellEvent[] = [];
  closed: number | undefined;
  private constructor(readonly socket: WebSocket) {
    socket.binaryType = "arraybuffer";
    const decoders = { stdin: new TextDecoder(), stdout: new TextDecoder(), stderr: new TextDecoder() };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") this.events.push(readShellEvent(data) as ShellEvent);
      else {
        const { stream, bytes } = readStreamMessage(new Uint8Array(data)) as NonNullable<ReturnType<typeof readStreamMessage>>;
        const text = decoders[stream].decode(bytes, { stream: true });
        if (stream === "stderr") this.err += text;
        else this.out += text;
      }
    };
    socket.onclose = ({ code }) => {
      this.closed = code;
    };
    socket.onerror = () => undefined;
  }
  /** Connects to the address of a shell with its ticket. */
  static connect(url: string, ticket: string, token: string): Talk {
    const headers = { authorization: `Bearer ${token}`, "svc-shell-ticket": ticket };
    return new Talk(new WebSocket(url.replace("http", "ws"), { headers } as unknown as string[]));
  }
  get exit(): number | undefined {
    const event = this.events.find((one) => one.is === "exit");
    return event?.is === "exit" ? event.code : undefined;
  }
  get failure(): string | undefined {
    const event = this.events.find((one) => one.is === "failed");
    return event?.is === "failed" ? event.message : undefined;
  }
  type(text: string): void {
    this.socket.send(streamMessage("stdin", new TextEncoder().encode(text)));
  }
  say(request: ShellRequest): void {
    this.socket.send(JSON.stringify(request));
  }
  async until(text: string): Promise<void> {
    await eventually(() => this.out.includes(text) || this.closed !== undefined, `'${text}' in ${JSON.stringify(this.out)}`);
    expect(this.out).toContain(text);
  }
  async ended(): Promise<void> {
    await eventually(() => this.closed !== undefined, "the end of the shell");
  }
}
