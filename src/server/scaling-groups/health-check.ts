/** Whether the server of a replica answers on its port. */

import { errorText } from "../../domain/error-text.ts";
import { connectPipe, type ServerAddress } from "../http1/connections.ts";
import { headBytes, parseResponse, readHead } from "../http1/head.ts";
import type { Pipe } from "../http1/pipe.ts";
import { FRAME_HEAD, Kind, PREFACE, settingsFrame } from "../http2/frames.ts";

/** Longest wait for an answer. */
const ANSWER_MS = 5_000;
/** The status by which a server says itself that it is not ready. */
const NOT_READY = 503;

const ASKED = headBytes("HEAD / HTTP/1.1", [
  ["host", "localhost"],
  ["user-agent", "svc-health-check"],
  ["connection", "close"],
]);
const GREETING = Buffer.concat([PREFACE, settingsFrame([])]);

/** Why a server does not answer. */
export interface HealthFault {
  readonly message: string;
  /** Whether it took the connection and said nothing in time: it may be busy. */
  readonly isLate: boolean;
}

/**
 * Why a server does not answer; undefined when it does. HTTP answers with any status but 503, gRPC
 * with the settings of HTTP/2.
 */
export async function healthCheck(address: ServerAddress, isGrpc: boolean): Promise<HealthFault | undefined> {
  let pipe: Pipe | undefined;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    pipe?.destroy();
  }, ANSWER_MS);
  const faulty = (message: string): HealthFault => ({
    message: isLate ? `it did not answer in ${ANSWER_MS / 1_000} seconds` : message,
    isLate,
  });
  try {
    pipe = await connectPipe(address);
    await pipe.write(isGrpc ? GREETING : ASKED);
    if (isGrpc) return (await firstFrame(pipe)) === Kind.SETTINGS ? undefined : faulty("it speaks no HTTP/2");
    const text = await readHead(pipe);
    if (text === undefined) return faulty("it ended the connection");
    return parseResponse(text).status === NOT_READY ? faulty("it answers with status 503") : undefined;
  } catch (error) {
    return faulty(errorText(error));
  } finally {
    clearTimeout(timer);
    pipe?.destroy();
  }
}

/** The kind of the first frame; undefined when the connection ended before. */
async function firstFrame(pipe: Pipe): Promise<number | undefined> {
  let bytes: Uint8Array = new Uint8Array(0);
  while (bytes.length < FRAME_HEAD) {
    const piece = await pipe.read();
    if (piece === undefined) return undefined;
    bytes = Buffer.concat([bytes, piece]);
  }
  return bytes[3];
}
