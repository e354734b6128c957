/**
 * The part of svc in a project's file of instructions. What else the file says is its owner's, and
 * stays to the byte.
 */

import { lstat, realpath } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { readRegularFile } from "../disk/regular-file.ts";
import { CliError } from "../errors/cli-error.ts";

const BEGIN = "<!-- svc: begin. `svc init agent-prompt` writes what stands from here to the end mark. -->";
const END = "<!-- svc: end -->";
/** Any form of the marks, as versions of svc wrote them. */
const MARK = /^<!-- svc: (begin|end)\b[^\n]*-->[ \t]*$/gm;

/**
 * The text of a file with the part of svc in it: in the place of the one that is there, or else at
 * the end. Throws a CliError when the marks are not one begin and one end behind it.
 */
export function withPart(text: string, part: string, file: string): string {
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const block = [BEGIN, part.trimEnd(), END].join("\n").replaceAll("\n", newline);
  const marks = [...text.replaceAll("\r\n", "\n").matchAll(MARK)];
  if (marks.length === 0) return text.trim() === "" ? `${block}${newline}` : `${text.trimEnd()}${newline}${newline}${block}${newline}`;
  const [begin, end] = [...text.matchAll(new RegExp(MARK.source.replace("$", "\\r?$"), "gm"))];
  if (marks.length !== 2 || begin?.[1] !== "begin" || end?.[1] !== "end")
    throw new CliError(`${file} has marks of svc that do not belong together`, {
      code: "bad_marks",
      hint: `Leave one line ${BEGIN} and one line ${END} below it, or none.`,
    });
  const tail = text.slice(end.index + end[0].replace(/\r$/, "").length);
  return text.slice(0, begin.index) + block + tail;
}

/** Longest file that a part is put into, in bytes. */
const MAX_BYTES = 1024 * 1024;

/** A file of instructions, as it is there. */
export interface InstructionFile {
  /** Where it is written: what a link in the project leads to. */
  readonly path: string;
  /** Undefined when there is none yet. */
  readonly text: string | undefined;
}

/**
 * Reads the file of instructions at a path below a project. Throws a CliError when it is no text,
 * too long, or leads out of the project by a link.
 */
export async function readInstructionFile(path: string, root: string): Promise<InstructionFile> {
  const bound = await realpath(root);
  const nearest = async (folder: string): Promise<string> =>
    (await realpath(folder).catch(() => undefined)) ?? (dirname(folder) === folder ? folder : nearest(dirname(folder)));
  const isDangling =
    (await realpath(path).catch(() => undefined)) === undefined && (await lstat(path).catch(() => undefined)) !== undefined;
  const real = await nearest(path);
  if (isDangling || (real !== bound && !real.startsWith(bound + sep)))
    throw new CliError(`${path} leads out of the project by a link`, { code: "symlink_refused", hint: "Remove the link." });
  const bytes = readRegularFile(path, { maxBytes: MAX_BYTES });
  if (!bytes) return { path, text: undefined };
  try {
    return { path: real, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    throw new CliError(`${path} is no UTF-8 text`, { code: "not_text", hint: "Nothing was changed." });
  }
}
