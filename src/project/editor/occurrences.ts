/**
 * Occurrences of the names of a project's classes, features and resolvers, over all of its files.
 */

import { GraphIndex } from "../../domain/graph-index.ts";
import { isSqlFile } from "../../domain/source-file.ts";
import { type ProjectText, type ReadFile, readPythonFile } from "../lint/lint.ts";
import { pythonOccurrences } from "./python-occurrences.ts";
import { sqlOccurrences } from "./sql-occurrences.ts";
import { type Occurrence, type ProjectSymbol, SymbolIndex } from "./symbol.ts";

/** A file with its text; the path is relative to the root. */
export interface NamedText {
  readonly path: string;
  readonly text: string;
}

/** The occurrences in the files of a project. */
export class Occurrences {
  readonly index: SymbolIndex;
  readonly #byPath = new Map<string, Occurrence[]>();
  readonly #bySymbol = new Map<ProjectSymbol["definition"], Occurrence[]>();
  /** Files that could not be read, or only in part. */
  readonly unread: readonly NamedText[];

  /**
   * @param read the content of the deployed files, as their text shows it
   * @param files those files and others that may name what they define, such as tests
   * @param known Python files that were read before
   */
  constructor(
    read: Pick<ProjectText, "graph" | "model">,
    readonly files: readonly NamedText[],
    known: Map<string, ReadFile> = new Map(),
  ) {
    this.index = new SymbolIndex(read.model);
    const graph = new GraphIndex(read.graph);
    const modules = new Map(read.model.modules.map((module) => [module.path, module]));
    const unread: NamedText[] = [];
    for (const file of files) {
      const module = modules.get(file.path) ?? (isSqlFile(file.path) ? undefined : readPythonFile(file.path, file.text, { known }).module);
      const found = isSqlFile(file.path)
        ? { occurrences: sqlOccurrences(this.index, graph, file), isWhole: true }
        : module && pythonOccurrences(this.index, module);
      if (!found?.isWhole) unread.push(file);
      this.#byPath.set(file.path, found?.occurrences.sort((a, b) => a.from - b.from) ?? []);
    }
    this.unread = unread;
    for (const each of this.all()) {
      const same = this.#bySymbol.get(each.symbol.definition);
      if (same) same.push(each);
      else this.#bySymbol.set(each.symbol.definition, [each]);
    }
  }

  /** All of them, by file. */
  *all(): Generator<Occurrence> {
    for (const found of this.#byPath.values()) yield* found;
  }

  /** The occurrence that an offset is in, or at the end of. */
  at(path: string, offset: number): Occurrence | undefined {
    return this.#byPath.get(path)?.find(({ from, to, isUncertain }) => from <= offset && offset <= to && !isUncertain);
  }

  /** Those in one file, in order. */
  in(path: string): readonly Occurrence[] {
    return this.#byPath.get(path) ?? [];
  }

  /** Those of one symbol, by file. */
  of(symbol: ProjectSymbol): readonly Occurrence[] {
    return this.#bySymbol.get(symbol.definition) ?? [];
  }
}
