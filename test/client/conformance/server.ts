/** A server with the project that the clients ask, and what their programs are made of. */

import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npmPackage } from "../../../src/client-packages/npm-package.ts";
import { copyProject, type Platform, runCommand, startPlatform } from "../../commands/platform.ts";
import { tempFolder } from "../test-context.ts";

/** The server. */
export interface ConformanceServer {
  readonly platform: Platform;
  /** A folder in which `svc-client` is installed. */
  readonly modules: string;
  /** Environment variables of programs that ask it. */
  readonly env: Readonly<Record<string, string>>;
  /** Applies a folder of the project, with the words of `svc apply`. */
  apply(folder: string, ...words: readonly string[]): Promise<void>;
  /** Writes code of the features with `svc codegen`. */
  codegen(language: string, out: string, ...flags: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the server, with the project applied. */
export async function startConformanceServer(): Promise<ConformanceServer> {
  const platform = await startPlatform();
  const command = async (path: string, words: readonly string[], dir: string) => {
    const run = await runCommand(path, [...words], { home: platform.home, env: platform.env, dir });
    if (run.exitCode !== 0) throw new Error(run.stderr);
  };
  const apply = (folder: string, ...words: readonly string[]) => command("apply", ["--force", "--await", ...words], folder);
  const project = conformanceProject();
  await apply(project);
  return {
    platform,
    apply,
    modules: await installedModules(),
    env: { ...platform.env, HOME: platform.home, PATH: process.env.PATH ?? "" },
    codegen: (language, out, ...flags) => command("codegen", [language, "--out", out, ...flags], project),
    stop: async () => void (await platform.server.stop()),
  };
}

/** A copy of the project. */
export const conformanceProject = (): string => copyProject(join(import.meta.dir, "project"));

async function installedModules(): Promise<string> {
  const modules = tempFolder("svc-modules-");
  const { content, name } = await npmPackage({ version: "v1.2.3", builtAt: "2024-02-29T12:34:56Z" });
  writeFileSync(join(modules, name), content);
  const unpacked = Bun.spawnSync(["tar", "xzf", name], { cwd: modules });
  if (!unpacked.success) throw new Error(unpacked.stderr.toString());
  cpSync(join(modules, "package"), join(modules, "node_modules/svc-client"), { recursive: true });
  return modules;
}
