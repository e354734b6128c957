/**
 * The branch that a command targets: `--branch <name>`, or with a bare `--branch` the branch that
 * git has checked out.
 */

import type { Context } from "../context/context.ts";
import { CliError } from "../errors/cli-error.ts";

const found = new WeakMap<object, Promise<string>>();

/**
 * The branch's name, or undefined without `--branch`. Throws CliError for a bare `--branch` outside
 * a git work tree, or when git is on no branch.
 */
export async function currentBranch(host: Pick<Context, "flags" | "machine">): Promise<string | undefined> {
  const { branch, dir } = host.flags;
  if (branch !== true) return branch || undefined;
  let asked = found.get(host.flags);
  if (!asked) {
    asked = gitBranch(host.machine, dir);
    found.set(host.flags, asked);
  }
  return asked;
}

async function gitBranch(machine: Context["machine"], dir: string): Promise<string> {
  const hint = "Name the branch: --branch=<name>.";
  const result = await machine.run(["git", "-C", dir, "symbolic-ref", "--quiet", "--short", "HEAD"]).catch((error) => {
    throw new CliError("--branch without a name needs git, which cannot be started", { code: "no_git", hint, cause: error });
  });
  if (result.exitCode === 0 && result.stdout.trim()) return result.stdout.trim();
  throw new CliError(
    /not a git repository/i.test(result.stderr)
      ? `--branch without a name takes the current git branch, but ${dir} is in no git work tree`
      : "--branch without a name takes the current git branch, but no branch is checked out",
    { code: "no_git_branch", hint },
  );
}
