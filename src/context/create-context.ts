/**
 * The construction of a command's context. Settings, project, Python and the client are imported
 * and made on first use.
 */

import type { Api, HttpClient } from "../client/api.ts";
import type { Settings } from "../config/settings.ts";
import { deferred } from "../domain/deferred.ts";
import { once } from "../domain/once.ts";
import type { Project } from "../project/project.ts";
import type { PythonToolchain } from "../python/toolchain.ts";
import type { Releases } from "../release/releases.ts";
import type { Context } from "./context.ts";
import { findProjectRoot } from "./project-root.ts";

/** The given parts of a context, from which the others are made. */
export type ContextParts = Pick<Context, "flags" | "io" | "clock" | "surroundings" | "machine" | "prompt" | "progress" | "signal">;

/** The context of one command. Nothing is read or dialled before it is first used. */
export function createContext(parts: ContextParts): Context {
  const { flags, surroundings, progress } = parts;
  const settings = once(async (): Promise<Settings> => {
    const { createSettings } = await import("../config/resolve.ts");
    return createSettings(flags, surroundings, findProjectRoot(flags.dir), progress.warn);
  });
  const project = once(async (): Promise<Project> => {
    const { loadProject } = await import("../project/load.ts");
    return loadProject(flags.dir, { env: surroundings.env, note: (text) => progress.warn(text) });
  });
  const projectName = once(async (): Promise<string | undefined> => {
    const root = findProjectRoot(flags.dir);
    return root === undefined ? undefined : (await import("../project/project-name.ts")).projectNameIn(root, surroundings.env);
  });
  const toolchain = async () => {
    const [{ createToolchain }, { svcHome }] = await Promise.all([import("../python/create-toolchain.ts"), import("../config/home.ts")]);
    const { env, platform, homeDir } = surroundings;
    return createToolchain({ home: svcHome(surroundings), env, platform, homeDir, withoutTranslations: true });
  };
  const python = deferred<PythonToolchain>(toolchain);
  const client = () => import("../client/create.ts");
  const api = deferred<Api>(async () => (await client()).createApi(context));
  const http = deferred<HttpClient>(async () => (await client()).createHttp(context));
  const releases = deferred<Releases>(async () => (await import("../release/create-releases.ts")).createReleases(parts));
  const page = async (text: string) => (await import("./pager.ts")).page(parts, text);
  const screen: Context["screen"] = async (run) => (await import("./screen.ts")).holdScreen(parts, run);
  const attach: Context["attach"] = async (run, asPipes) => (await import("./attached.ts")).attach(parts, run, asPipes);
  const context: Context = { ...parts, settings, project, projectName, python: () => python, releases, page, screen, attach, api, http };
  return context;
}
