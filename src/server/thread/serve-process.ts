/**
 * The child's side of typed calls of a process: an object is served to the process that started
 * this one, over stdin and stdout. Calls are answered as they are settled, in any order. The other
 * side is `ChildProcess`.
 */

import { encodeMessage, MessageReader } from "./process-messages.ts";
import { type ThrownError, thrownForm } from "./rpc.ts";

/** A message to a child. The first has the settings, all others are calls. */
export type ToChild = { readonly settings: unknown } | { readonly id: number; readonly method: string; readonly args: readonly unknown[] };

/** A child's answer to a call. */
export type FromChild = { readonly id: number; readonly result: unknown } | { readonly id: number; readonly thrown: ThrownError };

/**
 * Serves an object until the starter of this process closes stdin, or is no more; then this process
 * is killed, whatever its threads are doing. Never resolves before that.
 * @param make makes the object of the settings, at the first call; when it throws, again at the
 * next one
 */
export async function serveProcess<T extends object, S>(make: (settings: S) => T | Promise<T>): Promise<void> {
  const out = Bun.stdout.writer();
  let settings: S;
  let made: Promise<T> | undefined;
  const served = (): Promise<T> => {
    made ??= Promise.resolve()
      .then(() => make(settings))
      .catch((error: unknown) => {
        made = undefined;
        throw error;
      });
    return made;
  };
  const send = async (message: FromChild): Promise<void> => {
    for (const part of encodeMessage(message)) out.write(part);
    await out.flush();
  };
  const answer = async (id: number, method: string, args: readonly unknown[]): Promise<void> => {
    try {
      const methods = (await served()) as Record<string, ((...args: readonly unknown[]) => unknown) | undefined>;
      if (!methods[method]) throw new TypeError(`the process serves no method ${method}`);
      await send({ id, result: (await methods[method](...args)) ?? null });
    } catch (error) {
      await send({ id, thrown: thrownForm(error) });
    }
  };
  const reader = new MessageReader();
  try {
    for await (const piece of Bun.stdin.stream())
      reader.push(piece, (value) => {
        const message = value as ToChild;
        if ("settings" in message) settings = message.settings as S;
        else void answer(message.id, message.method, message.args);
      });
  } finally {
    process.kill(process.pid, "SIGKILL");
  }
}
