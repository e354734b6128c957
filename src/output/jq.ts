/** Filters of `--jq`, which jq itself runs, compiled for engines of JavaScript. */

import { CliError, UsageError } from "../errors/cli-error.ts";

/**
 * The engine: results of a filter for a JSON text, each on a line, texts as they are. Rejects with
 * jq's message.
 */
interface Engine {
  raw(json: string, filter: string, flags: readonly string[]): Promise<string>;
}

/**
 * A function from a JSON text to what jq prints for it: each result on a line, texts without
 * quotes; it rejects with a CliError where the filter fails. `interruptible` runs work during which
 * a signal ends the process, since jq holds it until it is done. Rejects with a UsageError for a
 * filter that is none.
 */
export async function jqFilter(
  filter: string,
  interruptible: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<(json: string) => Promise<string>> {
  const { default: load } = await import("jq-wasm/dist/build/jq.js");
  const engine = (await load()) as Engine;
  const raw = (json: string, program: string) => interruptible(() => engine.raw(json, program, ["-r", "-c"]));
  await raw("null", `def filter: ${filter}\n; empty`).catch(() => raw("null", filter).catch((error) => refuse(filter, messageOf(error))));
  return async (json) => {
    try {
      return await raw(json, filter);
    } catch (error) {
      throw new CliError(`--jq failed: ${messageOf(error)}`, { code: "filter_failed" });
    }
  };
}

/** Throws a UsageError for a message of jq about a filter that it cannot read. */
function refuse(filter: string, message: string): void {
  if (!message.includes("compile error")) return;
  const [first = ""] = message.split("\n");
  const problem = first.replace(" (Unix shell quoting issues?)", "").replace(/ at <top-level>, line \d+:$/, "");
  throw new UsageError(`--jq '${filter}' is no filter: ${problem}`, { hint: "The language is jq's: --jq '.features[].fqn'" });
}

/** What jq says, without its name and place. */
function messageOf(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  return said
    .replaceAll("jq: ", "")
    .replaceAll(" (at /dev/stdin:0)", "")
    .replace(/^error: /, "")
    .trim();
}
