/**
 * Messages of the language server protocol on a stream of bytes: a header with the length, an empty
 * line, JSON.
 */

import { CliError } from "../../errors/cli-error.ts";

/** Longest message that is taken. */
const LARGEST_BYTES = 64 * 1024 * 1024;
const LARGEST_HEADER = 8 * 1024;

/** The error of a stream that is no sequence of messages; nothing after that point can be read. */
export class FramingBroken extends CliError {
  override readonly name = "FramingBroken";
  constructor(found: string) {
    super(`stdin holds no message of the language server protocol, but ${found}`, {
      code: "bad_message",
      hint: "`svc lsp` is started by an editor; for findings in a terminal there is `svc lint`.",
    });
  }
}

/** A message as bytes to send. */
export function frame(message: unknown): Uint8Array {
  const body = Buffer.from(JSON.stringify(message));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
}

/** A reader of messages from bytes as they arrive. */
export class FrameReader {
  private pending: Buffer = Buffer.alloc(0);
  /** Length of the body that is awaited; undefined while a header is awaited. */
  private wanted: number | undefined;

  /** The messages that are complete with these bytes. Throws FramingBroken. */
  push(bytes: Uint8Array): string[] {
    this.pending = Buffer.concat([this.pending, bytes]);
    const messages: string[] = [];
    for (;;) {
      this.wanted ??= this.header();
      if (this.wanted === undefined || this.pending.length < this.wanted) return messages;
      messages.push(this.pending.toString("utf8", 0, this.wanted));
      this.pending = this.pending.subarray(this.wanted);
      this.wanted = undefined;
    }
  }

  private header(): number | undefined {
    const end = this.pending.indexOf("\r\n\r\n");
    if (end < 0) {
      if (this.pending.length > LARGEST_HEADER) throw new FramingBroken("a header without an end");
      return undefined;
    }
    const header = this.pending.toString("latin1", 0, end);
    const length = Number(/^content-length:[ \t]*(\d+)[ \t]*$/im.exec(header)?.[1]);
    if (!(length <= LARGEST_BYTES))
      throw new FramingBroken(`a header without a usable Content-Length: ${JSON.stringify(header.slice(0, 80))}`);
    this.pending = this.pending.subarray(end + 4);
    return length;
  }
}
