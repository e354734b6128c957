/**
 * Projects in which every place of one name is marked, and what stands there when it has another.
 */

import { analyzedFiles } from "../../../src/domain/source-file.ts";
import { Occurrences } from "../../../src/project/editor/occurrences.ts";
import { renameEdits } from "../../../src/project/editor/rename.ts";
import { withEdits } from "../../../src/project/editor/workspace-edit.ts";
import { type ProjectText, readProjectText } from "../../../src/project/lint/lint.ts";

/** Texts of a project by path. */
export type Files = Readonly<Record<string, string>>;

/** A project with its names. */
export interface NamedProject {
  readonly files: Files;
  readonly read: ProjectText;
  readonly occurrences: Occurrences;
}

/** Lints the files that are deployed. */
export function readDeployed(files: readonly { readonly path: string; readonly text: string }[]): ProjectText {
  const paths = new Set(analyzedFiles(files.map(({ path }) => path)));
  return readProjectText({ files: files.filter(({ path }) => paths.has(path)) });
}

/** Reads a project. */
export function readNames(files: Files): NamedProject {
  const list = Object.entries(files).map(([path, text]) => ({ path, text }));
  const read = readDeployed(list);
  return { files, read, occurrences: new Occurrences(read, list) };
}

/** The project with another name for what stands at an offset. Throws RenameRefused. */
export function renamed({ files, occurrences, read }: NamedProject, path: string, offset: number, newName: string): Files {
  const at = occurrences.at(path, offset);
  if (!at) throw new Error(`nothing of the project stands at ${offset} of ${path}`);
  const edits = renameEdits(at, newName, { occurrences, read, readText: readDeployed });
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [name, withEdits(text, edits.get(name) ?? [])]));
}

/** A project with marks. */
export interface MarkedProject {
  /** Without marks. */
  readonly files: Files;
  /** With what the marks say stands there afterwards. */
  readonly after: Files;
  /** `path:from-to` of every place of the name. */
  readonly places: readonly string[];
}

/**
 * Takes the marks out: `«amount»` is a place of the name, which becomes `newName`; `«amount→amount
 * as total»` one that becomes something else; `«→ as total»` is put in and is no place.
 */
export function unmark(marked: Files, newName: string): MarkedProject {
  const files: Record<string, string> = {};
  const after: Record<string, string> = {};
  const places: string[] = [];
  for (const [path, text] of Object.entries(marked)) {
    let [before, behind] = ["", ""];
    for (const [at, part] of text.split(/[«»]/).entries()) {
      if (at % 2 === 0) {
        before += part;
        behind += part;
        continue;
      }
      const [old = "", changed = newName] = part.split("→");
      if (old !== "") places.push(`${path}:${before.length}-${before.length + old.length}`);
      before += old;
      behind += changed;
    }
    files[path] = before;
    after[path] = behind;
  }
  return { files, after, places };
}
