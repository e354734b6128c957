/** Reading request bodies that have a limit and a deadline. */

/** The body is longer than it may be, or did not come in time. */
export class BodyRefused extends Error {
  override readonly name = "BodyRefused";
  constructor(
    message: string,
    readonly status: 408 | 413,
  ) {
    super(message);
  }
}

/** Longest time that a body of a call may take to come. */
export const BODY_DEADLINE_MS = 30_000;

/**
 * Reads a whole body.
 * @throws BodyRefused when it exceeds `maxBytes` or `deadlineMs`
 */
export async function readBody(request: Request, maxBytes: number, deadlineMs = BODY_DEADLINE_MS): Promise<Uint8Array> {
  const tooLong = () => new BodyRefused(`The body is longer than ${maxBytes} bytes.`, 413);
  const tooSlow = () => new BodyRefused(`The body did not come within ${deadlineMs / 1000} s.`, 408);
  const announced = request.headers.get("content-length");
  if (Number(announced ?? 0) > maxBytes) throw tooLong();
  if (announced !== null) return inTime(request.bytes(), deadlineMs, tooSlow);
  if (!request.body) return new Uint8Array(0);
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    reader.cancel().catch(() => undefined);
  }, deadlineMs);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (late) throw tooSlow();
      if (done) break;
      length += value.length;
      if (length > maxBytes) {
        await reader.cancel();
        throw tooLong();
      }
      chunks.push(value);
    }
  } finally {
    clearTimeout(timer);
  }
  const [only] = chunks;
  if (only && chunks.length === 1) return only;
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function inTime<T>(work: Promise<T>, deadlineMs: number, failure: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(failure()), deadlineMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
