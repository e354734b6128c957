/**
 * A long text, a screen at a time: in the user's pager, in `less`, or in a small one of our own.
 */

import type { Context } from "./context.ts";

/** The parts of the context that a pager needs. */
export type PagerHost = Pick<Context, "io" | "machine" | "surroundings" | "flags" | "signal">;

/** Programs that are no pager at all: people set them to have the text printed. */
const NO_PAGER = ["", "cat"];

/**
 * Shows the text where a person can look at it, and resolves when that person is done; with false,
 * when nobody is there or wants a pager, and nothing was shown then.
 */
export async function page(host: PagerHost, text: string): Promise<boolean> {
  const { io, machine, surroundings, flags } = host;
  const { SVC_PAGER, TERM } = surroundings.env;
  const PAGER = SVC_PAGER ?? surroundings.env.PAGER;
  if (flags.json || !flags.pager || !io.stdoutIsTTY || !io.stdinIsTTY || TERM === "dumb" || NO_PAGER.includes(PAGER?.trim() ?? "less"))
    return false;
  const less = { LESS: surroundings.env.LESS ?? "-FRX", LESSCHARSET: surroundings.env.LESSCHARSET ?? "utf-8" };
  const program =
    PAGER && surroundings.platform !== "win32" ? ["sh", "-c", PAGER] : machine.which("less") === undefined ? undefined : ["less", "-R"];
  if (program) {
    const { exitCode } = await machine.run(program, { inherit: true, input: text, env: less });
    if (exitCode !== 127) return true;
  }
  const { showPages } = await import("./own-pager.ts");
  await showPages(host, text);
  return true;
}
