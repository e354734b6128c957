/**
 * The display of a long text one screen at a time: in the user's pager, in `less`, or in the
 * built-in one.
 */

import type { Context } from "./context.ts";

/** The parts of the context that a pager needs. */
export type PagerHost = Pick<Context, "io" | "machine" | "surroundings" | "flags" | "signal">;

/** Settings of PAGER that mean no pager: people use them to have the text printed. */
const NO_PAGER = ["", "cat"];

/**
 * Shows the text in a pager and resolves with true when the user quits it; with false, showing
 * nothing, when there is no terminal or the user wants no pager.
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
