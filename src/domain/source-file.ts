/**
 * The files of a project that the analyzer reads. Client and server must agree, or what was checked
 * is not what runs.
 */

/** Ending of the names of SQL file resolvers. */
export const SQL_SUFFIX = ".svc.sql";

/** Whether a file is a SQL file resolver. */
export function isSqlFile(path: string): boolean {
  return path.endsWith(SQL_SUFFIX) && path.length > SQL_SUFFIX.length && !path.endsWith(`/${SQL_SUFFIX}`);
}

const SKIPPED_FOLDERS = new Set(["tests", "__pycache__", "node_modules", "site-packages"]);
const SKIPPED_MODULES = new Set(["__main__", "conftest"]);

/**
 * Whether a file is Python that belongs to the deployment: every `.py` but those of a `tests`
 * folder, `conftest.py`, `__main__.py`, a `setup.py` at the root, and hidden ones. The SDK's
 * `_loading/load.py` holds the same rule.
 */
export function isPythonModule(path: string): boolean {
  if (!path.endsWith(".py")) return false;
  const segments = path.slice(0, -3).split("/");
  const name = segments.at(-1) as string;
  if (segments.some((segment) => segment.startsWith(".") || segment === "")) return false;
  if (segments.slice(0, -1).some((folder) => SKIPPED_FOLDERS.has(folder))) return false;
  return !SKIPPED_MODULES.has(name) && !(segments.length === 1 && name === "setup");
}

/**
 * The files of a project that `PythonToolchain.analyze` is given: Python modules and SQL file
 * resolvers, sorted.
 */
export function analyzedFiles(paths: Iterable<string>): string[] {
  return [...paths].filter((path) => isPythonModule(path) || isSqlFile(path)).sort();
}

/**
 * Dotted module path of a Python file relative to the root: `pkg/mod.py` is `pkg.mod`,
 * `pkg/__init__.py` is `pkg`.
 */
export function moduleOf(path: string): string {
  const parts = path.replace(/\.py$/, "").split("/");
  if (parts.at(-1) === "__init__" && parts.length > 1) parts.pop();
  return parts.join(".");
}

/** FQN of a SQL file resolver: the stem of its name. */
export function sqlResolverFqn(path: string): string {
  return (path.split("/").at(-1) as string).slice(0, -SQL_SUFFIX.length);
}
