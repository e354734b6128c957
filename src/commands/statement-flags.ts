/** Statements of SQL as they are given: as text, a file or stdin. */

import type { Context } from "../context/context.ts";
import { UsageError } from "../errors/cli-error.ts";

const MAX_STATEMENT_BYTES = 256 * 1024;

/**
 * The statement that is given: a text, `@` and a file of it, or `-` for stdin, which is also read
 * where nothing is given. Throws UsageError.
 */
export async function statementText({ io, machine }: Pick<Context, "io" | "machine">, given: string | undefined): Promise<string> {
  const file = given?.startsWith("@") ? given.slice(1) : undefined;
  const isStdin = given === undefined || given === "-";
  if (isStdin && io.stdinIsTTY) throw new UsageError("there is no statement: give it as text, as a file (@file.sql), or on stdin");
  const bytes = isStdin ? await io.readAll() : file === undefined ? undefined : await machine.readBytes(file);
  if (file !== undefined && bytes === undefined) throw new UsageError(`there is no file ${file}`);
  const text = bytes === undefined ? (given as string) : new TextDecoder().decode(bytes);
  if (text.trim() === "") throw new UsageError("the statement is empty");
  if (Buffer.byteLength(text) > MAX_STATEMENT_BYTES) throw new UsageError("the statement is longer than 256 KiB");
  return text;
}
