/** Puts a command's context together. Settings, project, Python and the client are imported and made on first use. */

import type { Api, HttpClient } from "../client/api.ts";
import type { Settings } from "../config/settings.ts";
import type { Project } from "../project/project.ts";
import type { PythonToolchain } from "../python/toolchain.ts";
import type { Releases } from "../release/releases.ts";
import type { Context } from "./context.ts";
import { findProjectRoot } from "./project-root.ts";

/** The parts of a context that are given; the others are made from them. */
export type ContextParts = Pick<Context, "flags" | "io" | "clock" | "surroundings" | "machine" | "prompt" | "progress" | "signal">;

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Makes the context of one command. Nothing is read or dialled before it is asked for. */
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
  const toolchain = once(async () => {
    const [{ createToolchain }, { svcHome }] = await Promise.all([import("../python/create-toolchain.ts"), import("../config/home.ts")]);
    const { env, platform, homeDir } = surroundings;
    return createToolchain({ home: svcHome(surroundings), env, platform, homeDir });
  });
  const python: PythonToolchain = {
    findInterpreter: async (runtime) => (await toolchain()).findInterpreter(runtime),
    environmentPython: async (options) => (await toolchain()).environmentPython(options),
    sdkRoot: async () => (await toolchain()).sdkRoot(),
    cacheFolder: async () => (await toolchain()).cacheFolder(),
    compiledCode: async (interpreter, project) => (await toolchain()).compiledCode(interpreter, project),
    analyze: async (options) => (await toolchain()).analyze(options),
  };
  const client = once(() => import("../client/create.ts"));
  const realApi = once(async () => (await client()).createApi(context));
  const realHttp = once(async () => (await client()).createHttp(context));
  const api: Api = {
    auth: async () => (await realApi()).auth(),
    deployments: async () => (await realApi()).deployments(),
    environments: async () => (await realApi()).environments(),
    graph: async () => (await realApi()).graph(),
    health: async () => (await realApi()).health(),
    query: async () => (await realApi()).query(),
  };
  const http: HttpClient = {
    download: async (url) => (await realHttp()).download(url),
    upload: async (url, body, onSent) => (await realHttp()).upload(url, body, onSent),
    downloadSource: async (url, folder) => (await realHttp()).downloadSource(url, folder),
    ping: async (server) => (await realHttp()).ping(server),
    route: async () => (await realHttp()).route(),
    session: async () => (await realHttp()).session(),
    checkCredentials: async (id, secret, server) => (await realHttp()).checkCredentials(id, secret, server),
    forgetToken: async (clientId) => (await realHttp()).forgetToken(clientId),
    forgetTokens: async () => (await realHttp()).forgetTokens(),
  };
  const realReleases = once(async () => (await import("../release/create-releases.ts")).createReleases(parts));
  const releases: Releases = {
    hasOrigin: async (from) => (await realReleases()).hasOrigin(from),
    feed: async (from) => (await realReleases()).feed(from),
    freshFeed: async (from) => (await realReleases()).freshFeed(from),
    ownChangelog: async () => (await realReleases()).ownChangelog(),
    update: async (options) => (await realReleases()).update(options),
    rollback: async () => (await realReleases()).rollback(),
    installed: async () => (await realReleases()).installed(),
    prunable: async () => (await realReleases()).prunable(),
    prune: async (builds) => (await realReleases()).prune(builds),
  };
  const page = async (text: string) => (await import("./pager.ts")).page(parts, text);
  const context: Context = { ...parts, settings, project, python: () => python, releases, page, api, http };
  return context;
}
