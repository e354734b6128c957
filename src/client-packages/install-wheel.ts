/** Installing the wheel into an interpreter or a virtual environment, by its own pip or by uv. */

import { join, resolve } from "node:path";
import type { Context } from "../context/context.ts";
import { CliError } from "../errors/cli-error.ts";
import { SUPPORTED_MINORS } from "../python/runtime.ts";
import type { PackageFile } from "./package-file.ts";

/** The package as it is installed. */
export interface InstalledPackage {
  /** Path of the interpreter. */
  readonly python: string;
  readonly python_version: string;
  /** Version of the package. */
  readonly version: string;
  /** Its folder. */
  readonly location: string;
}

/** What an interpreter says of itself. */
interface Interpreter {
  readonly executable: string;
  readonly version: string;
  readonly minor: number;
  /** Whether it is that of a virtual environment. */
  readonly isVirtual: boolean;
  /** Whether the system's packages are those of another installer (PEP 668). */
  readonly isManaged: boolean;
  readonly hasPip: boolean;
}

const PROBE = `
import importlib.util, json, os, sys, sysconfig
virtual = sys.prefix != sys.base_prefix
managed = not virtual and os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))
print(json.dumps({
    "executable": sys.executable,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "minor": sys.version_info[1] if sys.version_info[0] == 3 else 0,
    "isVirtual": virtual,
    "isManaged": managed,
    "hasPip": importlib.util.find_spec("pip") is not None,
}))
`;

/** Prints the version and the folder of the package that the interpreter imports. */
const CHECK = "import os, svc; print(svc.__version__); print(os.path.dirname(svc.__file__))";

/** Lines of an installer's output that a failure shows. */
const SHOWN_LINES = 12;

type Machine = Pick<Context, "flags" | "machine" | "surroundings">;

/**
 * Installs the wheel in the place of any other version, and sees that the interpreter imports it.
 * Nothing is downloaded. Throws CliError.
 * @param wanted an interpreter, or the folder of a virtual environment, as it was given; undefined
 * for the active environment, else `.venv` of the working directory
 */
export async function installWheel(
  context: Machine,
  wanted: string | undefined,
  { content, name }: PackageFile,
): Promise<InstalledPackage> {
  const { machine } = context;
  const found = await probe(context, await interpreterOf(context, wanted));
  refuseUnusable(found);
  const uv = found.hasPip ? undefined : machine.which("uv");
  if (!found.hasPip && uv === undefined)
    throw new CliError(`${found.executable} has no pip, and there is no uv on PATH`, {
      code: "no_installer",
      hint: `Run \`${found.executable} -m ensurepip\`, or \`svc sdk wheel\` and install the file with the installer of this environment.`,
    });
  const folder = await machine.makeTempDir("svc-wheel-");
  try {
    const path = join(folder, name);
    await machine.writeFile(path, content);
    const argv = uv
      ? [uv, "pip", "install", "--python", found.executable, "--offline", "--no-deps", "--reinstall", path]
      : [
          found.executable,
          "-I",
          "-m",
          "pip",
          "install",
          "--no-index",
          "--no-deps",
          "--force-reinstall",
          "--no-input",
          "--disable-pip-version-check",
          path,
        ];
    const installed = await machine.run(argv);
    if (installed.exitCode !== 0)
      throw new CliError(
        [`${uv ? "uv" : "pip"} could not install the package`, ...lastLines(installed.stderr || installed.stdout)].join("\n"),
        {
          code: "install_failed",
          hint: "Nothing of the server is needed for this. See what the installer says, or give another interpreter with --python.",
        },
      );
  } finally {
    await machine.remove(folder);
  }
  const check = await machine.run([found.executable, "-I", "-c", CHECK]);
  const [version = "", location = ""] = check.stdout.trim().split(/\r?\n/);
  if (check.exitCode !== 0 || version === "")
    throw new CliError([`${found.executable} does not import what was installed`, ...lastLines(check.stderr)].join("\n"), {
      code: "install_failed",
    });
  return { python: found.executable, python_version: found.version, version, location };
}

/** Path of the interpreter that is meant. */
async function interpreterOf({ flags, machine, surroundings }: Machine, wanted: string | undefined): Promise<string> {
  const folders =
    wanted === undefined ? [surroundings.env.VIRTUAL_ENV || undefined, join(flags.dir, ".venv")] : [resolve(flags.dir, wanted)];
  for (const folder of folders) {
    const inside = folder && (surroundings.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python"));
    if (inside && (await machine.exists(inside))) return inside;
  }
  if (wanted === undefined)
    throw new CliError("there is no virtual environment here: none is active, and there is no .venv", {
      code: "no_interpreter",
      hint: "Make one with `python3 -m venv .venv`, or name an environment or an interpreter with --python.",
    });
  const named = /[\\/]/.test(wanted) ? resolve(flags.dir, wanted) : machine.which(wanted);
  if (named !== undefined && (await machine.exists(named))) return named;
  throw new CliError(`${wanted} is neither a virtual environment nor an interpreter`, {
    code: "no_interpreter",
    hint: "Give the folder of an environment, the path of an interpreter, or its name on PATH.",
  });
}

async function probe({ machine }: Machine, path: string): Promise<Interpreter> {
  try {
    const { exitCode, stderr, stdout } = await machine.run([path, "-I", "-c", PROBE]);
    if (exitCode !== 0) throw new CliError(stderr.trim() || `it exits with ${exitCode}`);
    return JSON.parse(stdout) as Interpreter;
  } catch (error) {
    throw new CliError(`${path} is no Python that can be used: ${error instanceof Error ? error.message : error}`, {
      code: "no_interpreter",
      hint: "Give the path of an interpreter, or of a virtual environment, with --python.",
      cause: error,
    });
  }
}

/**
 * Throws CliError for an interpreter that the package is not for, or that is another installer's.
 */
function refuseUnusable({ executable, isManaged, minor, version }: Interpreter): void {
  const oldest = Math.min(...SUPPORTED_MINORS);
  if (minor < oldest)
    throw new CliError(`${executable} is Python ${version}, and the package needs 3.${oldest} or newer`, {
      code: "python_too_old",
      hint: "Give another interpreter with --python.",
    });
  if (isManaged)
    throw new CliError(`${executable} belongs to the system, whose packages only its own installer changes (PEP 668)`, {
      code: "externally_managed",
      hint: `Make a virtual environment for it: \`${executable} -m venv .venv && svc sdk install --python .venv\`.`,
    });
}

function lastLines(text: string): string[] {
  return text
    .trimEnd()
    .split(/\r?\n/)
    .slice(-SHOWN_LINES)
    .map((line) => `  ${line}`);
}
