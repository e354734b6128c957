/** The arguments of tasks, as people give them: `--arg`, and files of JSON lines. */

import { isJsonObject, type Json } from "../domain/json-value.ts";
import { CliError } from "../errors/cli-error.ts";

/** The arguments of one task, as JSON. */
export interface TaskArgumentsJson {
  readonly argsJson: string;
  readonly kwargsJson: string;
}

/**
 * Arguments of texts: `name=value` is one with a name, anything else a positional one. Values stay
 * texts.
 */
export function argumentsOfTexts(texts: readonly string[]): TaskArgumentsJson {
  const named = texts.map((text) => /^([\p{L}_][\p{L}\p{N}_]*)=(.*)$/su.exec(text));
  const kwargs = Object.fromEntries(named.flatMap((match) => (match ? [[match[1] as string, match[2] as string]] : [])));
  return { argsJson: JSON.stringify(texts.filter((_, at) => !named[at])), kwargsJson: JSON.stringify(kwargs) };
}

/**
 * The arguments of a file of JSON lines, one task a line: a list of positional arguments, an object
 * of arguments by name, or `{"args": [...], "kwargs": {...}}`. Throws CliError that names the line.
 * @param file name of the file, for messages
 */
export function argumentsOfLines(text: string, file: string): TaskArgumentsJson[] {
  const tasks: TaskArgumentsJson[] = [];
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    const wrong = (what: string): CliError =>
      new CliError(`${file}, line ${at + 1}: ${what}`, {
        code: "invalid_argument",
        hint: 'Each line is one task: ["value"], {"name": "value"}, or {"args": ["value"], "kwargs": {"name": "value"}}.',
      });
    let value: Json;
    try {
      value = JSON.parse(line) as Json;
    } catch (error) {
      throw wrong(`no JSON: ${error instanceof Error ? error.message : error}`);
    }
    if (!isJsonObject(value) && !Array.isArray(value)) throw wrong("neither a list nor an object");
    const { args = [], kwargs = {} } = bothKinds(value);
    if (!Array.isArray(args)) throw wrong("`args` is no list");
    if (!isJsonObject(kwargs)) throw wrong("`kwargs` is no object");
    tasks.push({ argsJson: JSON.stringify(args), kwargsJson: JSON.stringify(kwargs) });
  }
  if (tasks.length === 0) throw new CliError(`${file} has no line, and each line is a task`, { code: "invalid_argument" });
  return tasks;
}

/** Positional arguments, and those with names, of a list or an object of either or both. */
function bothKinds(value: Json[] | { readonly [name: string]: Json }): { readonly args?: Json; readonly kwargs?: Json } {
  if (Array.isArray(value)) return { args: value };
  const names = Object.keys(value);
  return names.length > 0 && names.every((name) => name === "args" || name === "kwargs") ? value : { kwargs: value };
}
