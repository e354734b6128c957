/** A client of HTTP/2 that sends whatever frames it is told to, and keeps those that it gets. */

import { FRAME_HEAD, frame, Kind, numberAt, PREFACE, settingsFrame } from "../../../src/server/http2/frames.ts";
import { eventually } from "../../harness/eventually.ts";

/** A frame that was received. */
export interface Received {
  readonly kind: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** The client. */
export class FrameClient implements Disposable {
  readonly frames: Received[] = [];
  isClosed = false;
  #held: Buffer = Buffer.alloc(0);
  #unsent: Buffer = Buffer.alloc(0);
  #socket: Bun.Socket | undefined;

  /** Connects, and sends the preface with the settings that are given. */
  static async connect(port: number, settings: Parameters<typeof settingsFrame>[0] = [], hello = true): Promise<FrameClient> {
    const client = new FrameClient();
    client.#socket = await Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        data: (_, bytes) => client.#receive(Buffer.from(bytes)),
        drain: () => client.#write(),
        close: () => {
          client.isClosed = true;
        },
        error: () => undefined,
      },
    });
    if (hello) client.send(PREFACE, settingsFrame(settings));
    return client;
  }

  send(...parts: readonly Uint8Array[]): void {
    this.#unsent = Buffer.concat([this.#unsent, ...parts]);
    this.#write();
  }

  /** Resolves with the first frame that `matches`, once it is there. */
  async received(matches: (frame: Received) => boolean): Promise<Received> {
    await eventually(() => this.frames.some(matches), "the frame came");
    return this.frames.find(matches) as Received;
  }

  /** The error code of the frame that ends the connection, once it is there. */
  async goaway(): Promise<number> {
    return numberAt((await this.received(({ kind }) => kind === Kind.GOAWAY)).payload, 4);
  }

  /** Resolves when the server has taken all that was sent. */
  async settled(): Promise<void> {
    const mark = crypto.getRandomValues(Buffer.alloc(8));
    this.send(frame(Kind.PING, 0, 0, mark));
    await this.received(({ kind, payload }) => kind === Kind.PING && payload.equals(mark));
  }

  [Symbol.dispose](): void {
    this.#socket?.terminate();
  }

  #write(): void {
    const written = this.#socket?.write(this.#unsent) ?? 0;
    this.#unsent = this.#unsent.subarray(Math.max(written, 0));
  }

  #receive(bytes: Buffer): void {
    this.#held = Buffer.concat([this.#held, bytes]);
    while (this.#held.length >= FRAME_HEAD) {
      const end = FRAME_HEAD + this.#held.readUIntBE(0, 3);
      if (this.#held.length < end) return;
      const payload = Buffer.from(this.#held.subarray(FRAME_HEAD, end));
      this.frames.push({ kind: this.#held[3] ?? 0, flags: this.#held[4] ?? 0, stream: numberAt(this.#held, 5), payload });
      this.#held = this.#held.subarray(end);
    }
  }
}
