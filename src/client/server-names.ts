/**
 * Names that the server knows, for shell completion: cached for a short time in a private file; no
 * error when the server does not answer.
 */

import { join } from "node:path";
import { tokenCacheDir } from "../config/home.ts";
import type { Context } from "../context/context.ts";
import { readPrivateFile, writePrivateFile } from "../disk/private-file.ts";
import { readableName } from "../domain/name.ts";
import type { ServerNoun } from "../domain/server-noun.ts";

/** A name, and what it is in a few words. */
export interface ServerName {
  readonly value: string;
  readonly meaning: string;
}

/** The parts of the context that are needed. */
export type NamesHost = Pick<Context, "api" | "clock" | "flags" | "settings" | "surroundings">;

/** Milliseconds for which the cached names are used. */
const FRESH_MS = 15_000;
const MAX_NAMES = 2_000;
const FORMAT = 1;

/**
 * The names of one kind, in the environment and branch that flags and settings select. Empty when
 * the server does not answer.
 */
export async function serverNames(host: NamesHost, noun: ServerNoun): Promise<readonly ServerName[]> {
  try {
    const path = await cachePath(host, noun);
    const cached = readCached(path, host.clock.now());
    if (cached) return cached;
    const names = (await fetchNames(host, noun)).slice(0, MAX_NAMES);
    writePrivateFile(path, JSON.stringify({ format: FORMAT, at: host.clock.now(), names }), { durable: false });
    return names;
  } catch {
    return [];
  }
}

async function cachePath({ flags, settings, surroundings }: NamesHost, noun: ServerNoun): Promise<string> {
  const { apiServer, clientId, accessToken, environment } = await settings();
  const key = [noun, apiServer.value, clientId.value, accessToken.value, environment.value, String(flags.branch ?? "")];
  const hash = new Bun.CryptoHasher("sha256").update(JSON.stringify(key)).digest("hex").slice(0, 32);
  return join(tokenCacheDir(surroundings), `names-${hash}.json`);
}

function readCached(path: string, now: number): readonly ServerName[] | undefined {
  try {
    const { format, at, names } = JSON.parse(readPrivateFile(path) ?? "{}") as { format?: number; at?: number; names?: ServerName[] };
    const isFresh = format === FORMAT && at !== undefined && at <= now && now - at < FRESH_MS;
    return isFresh && Array.isArray(names) ? names : undefined;
  } catch {
    return undefined;
  }
}

async function fetchNames(host: NamesHost, noun: ServerNoun): Promise<readonly ServerName[]> {
  switch (noun) {
    case "feature":
    case "output": {
      const { features } = await (await host.api.graph()).listFeatures({});
      const named = features.flatMap(({ feature }) =>
        feature ? [{ value: readableName(feature.fqn), meaning: feature.description.split("\n", 1)[0] ?? "" }] : [],
      );
      if (noun === "feature") return named;
      const classes = new Set(features.flatMap(({ feature }) => (feature ? [feature.namespace] : [])));
      return [...[...classes].map((value) => ({ value, meaning: "all features of the class" })), ...named];
    }
    case "environment": {
      const { environments } = await (await host.api.environments()).listEnvironments({});
      return environments.map(({ name, projectName }) => ({ value: name, meaning: `environment of ${projectName}` }));
    }
    case "branch":
      return branches(host);
    case "deployment":
      return deployments(host);
    case "source":
      return [...(await branches(host)), ...(await deployments(host))];
  }
}

async function branches({ api }: NamesHost): Promise<readonly ServerName[]> {
  const { branches } = await (await api.deployments()).listBranches({});
  return branches.map(({ name, deploys }) => ({
    value: name,
    meaning: `branch, ${deploys} ${deploys === 1 ? "deployment" : "deployments"}`,
  }));
}

async function deployments({ api, flags }: NamesHost): Promise<readonly ServerName[]> {
  const branch = typeof flags.branch === "string" ? flags.branch : "";
  const { deployments } = await (await api.deployments()).listDeployments({ branch });
  return deployments.map(({ id, description }) => ({ value: id, meaning: description.split("\n", 1)[0] || "deployment" }));
}
