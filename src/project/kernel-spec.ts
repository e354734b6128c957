/** Kernel specs of Jupyter: how it starts the kernel of a project's environment. */

import { join } from "node:path";
import type { Surroundings } from "../context/machine.ts";

/** What a kernel spec is made of. */
export interface KernelSpecParts {
  /** Name of the project. */
  readonly project: string;
  /** Absolute folder of the project. */
  readonly root: string;
  /** Interpreter that has ipykernel. */
  readonly python: string;
  /** Folder that holds the package `svc`. */
  readonly sdkRoot: string;
}

/** The text of a `kernel.json`. */
export function kernelSpec({ project, root, python, sdkRoot }: KernelSpecParts): string {
  const spec = {
    argv: [python, "-X", "utf8", "-m", "svc._notebook.jupyter", "-f", "{connection_file}"],
    display_name: `${project} (svc)`,
    language: "python",
    env: { PYTHONPATH: sdkRoot, TARGET_ROOT: root },
    metadata: { debugger: true },
  };
  return `${JSON.stringify(spec, undefined, 2)}\n`;
}

/** The name by which Jupyter knows a project's kernel: letters, digits, `-`, `_` and `.`. */
export function kernelName(project: string): string {
  return `svc-${project.toLowerCase().replaceAll(/[^a-z0-9._-]+/g, "-")}`;
}

/** The folder of this user's kernel specs, as Jupyter finds it. */
export function kernelsFolder({ env, homeDir, platform }: Pick<Surroundings, "env" | "homeDir" | "platform">): string {
  if (env.JUPYTER_DATA_DIR) return join(env.JUPYTER_DATA_DIR, "kernels");
  if (platform === "darwin") return join(homeDir, "Library", "Jupyter", "kernels");
  if (platform === "win32") return join(env.APPDATA ?? join(homeDir, "AppData", "Roaming"), "jupyter", "kernels");
  return join(env.XDG_DATA_HOME || join(homeDir, ".local", "share"), "jupyter", "kernels");
}
