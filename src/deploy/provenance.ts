import { detectCi, webAddress } from "../config/ci.ts";
import type { Context } from "../context/context.ts";

/** The origin of the code, for the deployment's record; empty when not known. */
export interface Provenance {
  readonly ciJobUrl: string;
  readonly repositoryUrl: string;
}

/**
 * The origin in the flags, else from the CI system, else the remote of the git work tree.
 * Credentials in addresses are dropped.
 */
export async function findProvenance(
  context: Context,
  root: string,
  given: { readonly cicdJobUrl: string | undefined; readonly vcsUrl: string | undefined },
): Promise<Provenance> {
  const detected = detectCi(context.surroundings.env);
  const repository = given.vcsUrl ?? detected.repositoryUrl ?? (await gitRemote(context, root));
  return {
    ciJobUrl: webAddress(given.cicdJobUrl) ?? given.cicdJobUrl ?? detected.jobUrl ?? "",
    repositoryUrl: webAddress(repository) ?? given.vcsUrl ?? "",
  };
}

async function gitRemote({ machine }: Context, root: string): Promise<string | undefined> {
  if (machine.which("git") === undefined) return undefined;
  const git = async (...args: string[]) => {
    const result = await machine.run(["git", "-C", root, ...args]).catch(() => undefined);
    return result?.exitCode === 0 ? result.stdout.trim() : "";
  };
  const remotes = (await git("remote")).split("\n").filter((name) => name !== "");
  const remote = remotes.includes("origin") ? "origin" : remotes[0];
  return remote === undefined ? undefined : (await git("remote", "get-url", remote)) || undefined;
}
