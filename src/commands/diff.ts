import { join } from "node:path";
import { defineCommand } from "../cli/command.ts";
import { bool, optionalArg, text } from "../cli/flag.ts";
import { currentBranch } from "../config/branch.ts";
import type { Context } from "../context/context.ts";
import { unifiedHunks } from "../domain/line-diff.ts";
import { visibleLines } from "../domain/visible.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { textView } from "../output/view.ts";

/** Two deployments and how their sources differ. */
interface SourceDiff {
  readonly source: string;
  readonly target: string;
  readonly differs: boolean;
  /** The output of the diff tool. */
  readonly diff: string;
}

interface Side {
  readonly id: string;
  readonly files: readonly string[];
}

export default defineCommand({
  summary: "Compare the source of two deployments",
  category: "Build and deploy",
  description:
    "Each side is a branch, which means its latest deployment, or a deployment id. One argument is compared with the latest deployment of the " +
    "environment. The system's diff tool does the work; the exit code is 0 also when there are differences.",
  examples: [
    { run: "svc diff try-it", does: "Compare a branch with what the environment runs" },
    "svc diff dpl_0198c0de dpl_0198c0df --unified",
  ],
  needs: ["session"],
  args: {
    source: optionalArg("branch or deployment id; left out: the environment's latest deployment", { names: "source" }),
    target: optionalArg("branch or deployment id; left out: the environment's latest deployment", { names: "source" }),
  },
  flags: {
    unified: bool("unified diff", { aliases: ["-u"] }),
    otherBranch: text("branch to compare with", { hidden: true }),
    deploymentId: text("deployment to compare", { hidden: true }),
    otherDeploymentId: text("deployment to compare with", { hidden: true }),
  },
  check({ source, target, deploymentId, otherBranch, otherDeploymentId }, { flags }) {
    if (flags.branch !== undefined && (source ?? deploymentId) !== undefined)
      throw new UsageError(`--branch and ${source === undefined ? "--deployment-id" : "<source>"} exclude each other`);
    if (source !== undefined && deploymentId !== undefined) throw new UsageError("<source> and --deployment-id exclude each other");
    const others = [target, otherBranch, otherDeploymentId].filter((given) => given !== undefined);
    if (others.length > 1) throw new UsageError("give only one of <target>, --other-branch and --other-deployment-id");
  },
  async run(context, input): Promise<SourceDiff> {
    const { machine } = context;
    const first = input.source ?? input.deploymentId ?? (await currentBranch(context));
    const second = input.target ?? input.otherBranch ?? input.otherDeploymentId;
    if (first === undefined && second === undefined) {
      throw new UsageError("say what to compare with the environment's latest deployment: a branch or a deployment id");
    }
    const one = second === undefined ? "" : (first ?? "");
    const two = second ?? first ?? "";
    const folder = await machine.makeTempDir("svc-diff-");
    try {
      const left = await fetchSide(context, one, folder);
      const right = await fetchSide(context, two, folder);
      const diff = left.id === right.id ? "" : await compare(context, folder, left, right, input.unified);
      return { source: left.id, target: right.id, differs: diff !== "", diff };
    } finally {
      await machine.remove(folder);
    }
  },
  view: textView(
    (found: SourceDiff, style) =>
      found.differs ? (style.isTTY ? visibleLines(found.diff) : found.diff) : `No differences between ${found.source} and ${found.target}.`,
    undefined,
    { long: true },
  ),
});

async function fetchSide({ api, http, machine }: Context, target: string, folder: string): Promise<Side> {
  const { deployment, url } = await (await api.deployments()).getSource({ target }, { headers: { "svc-branch": "" } });
  if (!deployment) throw new CliError("the server named no deployment for this source", { code: "broken_answer" });
  const destination = join(folder, deployment.id);
  if (await machine.exists(destination)) return { id: deployment.id, files: [] };
  return { id: deployment.id, files: await http.downloadSource(url, destination) };
}

async function compare(context: Context, folder: string, left: Side, right: Side, unified: boolean): Promise<string> {
  const { machine } = context;
  const tool = machine.which("diff");
  if (tool === undefined) return compareByLines(context, folder, left, right);
  const argv = [tool, "-r", "-N", ...(unified ? ["-u"] : []), left.id, right.id];
  const result = await machine.run(argv, { cwd: folder });
  if (result.exitCode > 1) throw new CliError(`${tool} failed: ${result.stderr.trim()}`, { code: "diff_failed" });
  return result.stdout.trimEnd();
}

async function compareByLines({ machine }: Context, folder: string, left: Side, right: Side): Promise<string> {
  const parts: string[] = [];
  for (const file of [...new Set([...left.files, ...right.files])].sort()) {
    const [before, after] = [join(left.id, file), join(right.id, file)];
    const [old, now] = [await machine.readBytes(join(folder, before)), await machine.readBytes(join(folder, after))];
    if (isBinary(old) || isBinary(now)) {
      if (!old || !now || !Buffer.from(old).equals(now)) parts.push(`Binary files ${before} and ${after} differ`);
      continue;
    }
    const hunks = unifiedHunks(decode(old), decode(now));
    if (hunks) parts.push(`--- ${before}\n+++ ${after}\n${hunks}`);
  }
  return parts.join("\n");
}

function isBinary(bytes: Uint8Array | undefined): boolean {
  return bytes?.subarray(0, 8000).includes(0) ?? false;
}

function decode(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : new TextDecoder().decode(bytes);
}
