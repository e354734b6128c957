/**
 * What a task runs, as people write it: `file.py`, `module`, `file.py::function`,
 * `module::Class::method`.
 */

/** A file or a module, and a function in it. The parts that do not apply are empty. */
export interface TaskTarget {
  /** File relative to the project's root, with `/`. */
  readonly path: string;
  /** Dotted name. */
  readonly module: string;
  /** Names from the module to a function, joined by dots; empty = the file or the module is run. */
  readonly callable: string;
}

/** Longest text of a target, in characters. */
export const MAX_TARGET = 500;

const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
/** Names that lead to a method: its class and its own. */
const MAX_NAMES = 2;

/**
 * Why a target is none, in words that go on after its text ("is …", "has …"); undefined = it is
 * one.
 */
export function targetProblem({ path, module, callable }: TaskTarget): string | undefined {
  if ((path === "") === (module === "")) return "names neither a file nor a module";
  if (path.length + module.length + callable.length > MAX_TARGET) return `has more than ${MAX_TARGET} characters`;
  if (path !== "") {
    const parts = path.split("/");
    if (!path.endsWith(".py") || parts.at(-1) === ".py") return "is no Python file";
    if (parts.some((part) => part === "" || part === "." || part === "..") || /[\\\p{Cc}]/u.test(path))
      return "is no path from the project's root, such as scripts/report.py";
  } else if (!module.split(".").every((name) => NAME.test(name))) return "is no module, such as scripts.report";
  const names = callable === "" ? [] : callable.split(".");
  if (names.length > MAX_NAMES || !names.every((name) => NAME.test(name)))
    return "names no function: that is file.py::function or file.py::Class::method";
  return undefined;
}

/**
 * The target of a text. What ends in `.py` before the first `::` is a file, everything else a
 * module, as is all with `isModule`.
 */
export function parseTarget(text: string, isModule: boolean): TaskTarget {
  const [code = "", ...names] = text.split("::");
  const isFile = !isModule && code.endsWith(".py");
  const callable = names.map((name) => name || "?").join(".");
  return { path: isFile ? code.replace(/^(\.\/)+/, "") : "", module: isFile ? "" : code, callable };
}

/** A target as people write it. */
export function targetText({ path, module, callable }: TaskTarget): string {
  return [path || module, ...(callable === "" ? [] : callable.split("."))].join("::");
}
