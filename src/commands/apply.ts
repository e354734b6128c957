import { defineCommand, type InputOf } from "../cli/command.ts";
import { bool, keyValue, list, text } from "../cli/flag.ts";
import { currentBranch } from "../config/branch.ts";
import type { Context } from "../context/context.ts";
import { type ApplyEvent, type DeployOptions, deploy } from "../deploy/deploy.ts";
import { statusName } from "../deploy/follow.ts";
import { findProvenance } from "../deploy/provenance.ts";
import { deployOnChange } from "../deploy/watch.ts";
import { escapeControls } from "../domain/name.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { type Style, textView } from "../output/view.ts";
import { diffJson, diffText } from "./apply/diff-view.ts";
import { confirmFlags } from "./confirm-flags.ts";

const applyFlags = {
  ...confirmFlags,
  watch: bool("redeploy on file changes; needs --branch"),
  reset: bool("reset the branch to the working directory, dropping what notebooks added to it; needs --branch"),
  await: bool("wait until the deployment is live", { aliases: ["--wait"] }),
  dryRun: bool("print the diff and validation errors, deploy nothing", { aliases: ["--plan"] }),
  noPromote: bool("deploy without promoting"),
  blueGreen: bool("deploy to whichever of the tags blue and green has no traffic", { aliases: ["--bluegreen"] }),
  enableProfiling: bool("sample what Python resolvers are doing, for `svc deployment profile`"),
  deploymentTag: list(text("tag for the deployment", { aliases: ["--tag", "--tags"], placeholder: "<tag>" }), { split: true }),
  description: text("deployment description, Markdown", { placeholder: "<text>" }),
  metadata: list(keyValue("deployment metadata")),
  cicdJobUrl: text("URL of the CI job", {
    aliases: ["--ci-job-url"],
    defaultText: "detected on common CI systems",
    placeholder: "<url>",
  }),
  vcsUrl: text("repository URL", {
    aliases: ["--repository-url", "--repo-url"],
    defaultText: "detected on common CI systems, else the git remote",
    placeholder: "<url>",
  }),
  skipSqlExtrasCheck: bool("do not check that requirements include the SQL source extras", { aliases: ["--skip-requirements-check"] }),
  skipLsp: bool("skip local LSP diagnostics and go on", { aliases: ["--skip-lsp-diagnostics"] }),
  dump: bool("print the generated apply payload", { aliases: ["--print-payload"] }),
};

type Input = InputOf<typeof applyFlags>;

export default defineCommand({
  summary: "Validate, show the diff and deploy the project",
  category: "Build and deploy",
  description:
    "Validates the project on this machine and then against the server, shows what would change, asks, uploads the project without the ignored files, and " +
    "deploys it to the environment or, with --branch, to a branch of its own. What was live before keeps answering until the new deployment is ready.",
  examples: [
    "svc apply",
    { run: "svc apply --force --await", does: "Ask nothing, and wait until the deployment is live" },
    { run: "svc apply --branch=try-it --watch", does: "Redeploy a branch on every change" },
    { run: "svc apply --blue-green --await", does: "Deploy beside what answers; svc traffic promote then switches" },
    { run: "svc apply --dry-run", does: "Only show what would change" },
  ],
  needs: ["project", "session"],
  flags: applyFlags,
  check({ watch, reset, noPromote, dryRun, blueGreen }, { flags }) {
    const branch = flags.branch !== undefined;
    if (watch && !branch) throw new UsageError("--watch needs --branch", { hint: "For example: svc apply --branch=try-it --watch" });
    if (reset && !branch) throw new UsageError("--reset needs --branch");
    if (noPromote && branch) throw new UsageError("--no-promote and --branch exclude each other");
    if (blueGreen && branch) throw new UsageError("--blue-green and --branch exclude each other");
    if (blueGreen && noPromote)
      throw new UsageError("--blue-green and --no-promote exclude each other", {
        hint: "--blue-green alone does not change what answers, but for the first deployment.",
      });
    if (dryRun && watch) throw new UsageError("--dry-run and --watch exclude each other");
  },
  run(context, input): Promise<ApplyEvent> | AsyncIterable<ApplyEvent> {
    if (input.watch) return eventsOf(context, input);
    return context.flags.json ? lastOf(eventsOf(context, input)) : eventsOf(context, input);
  },
  mayEndAfter: ({ kind }) => kind === "deployed",
  view: textView(asText, asJson),
});

async function* eventsOf(context: Context, input: Input): AsyncIterable<ApplyEvent> {
  const { flags } = context;
  const project = await context.project();
  const options: DeployOptions = {
    ...input,
    branch: await currentBranch(context),
    tags: input.deploymentTag,
    profiling: input.enableProfiling,
    provenance: await findProvenance(context, project.root, input),
  };
  const events = input.watch ? deployOnChange(context, options) : deploy(context, options);
  for await (const event of events) {
    if (!flags.json || !input.watch || event.kind === "deployed") yield event;
    const next = event.kind === "deployed" ? nextStep(event, input) : "";
    if (next !== "") context.progress.note(next);
  }
}

/** The hint on querying the deployment; empty when queries reach it without further options. */
function nextStep(
  { deployment, promoted }: Extract<ApplyEvent, { kind: "deployed" }>,
  { await: waited, watch, noPromote, blueGreen }: Input,
): string {
  if (deployment.approvalId !== "") return "";
  const asked = `Ask it with \`svc query --deployment ${escapeControls(deployment.id)}\`.`;
  if (promoted) return waited || watch ? "" : "Queries are answered by it once it is live; `svc apply --await` waits for that.";
  if (noPromote) return asked;
  if (blueGreen) return `${asked} \`svc traffic promote\` gives it all queries of the environment.`;
  const [tag] = deployment.tags;
  return tag === undefined
    ? `${asked} Queries of the environment are shared by weights, and it has no tag to get any: deploy with --tag.`
    : `${asked} It gets queries of the environment with \`svc traffic set --tags ${escapeControls(tag)}=<weight>\`.`;
}

/** The last event of a run that does not watch: its one JSON document. */
async function lastOf(events: AsyncIterable<ApplyEvent>): Promise<ApplyEvent> {
  let last: ApplyEvent | undefined;
  let payload: unknown;
  for await (const event of events) {
    if (event.kind === "payload") payload = event.payload;
    else last = event;
  }
  if (!last) throw new CliError("nothing was compared", { code: "broken_answer" });
  return last.kind === "diff" ? { ...last, payload } : last;
}

function asText(event: ApplyEvent, style: Style): string {
  switch (event.kind) {
    case "payload":
      return JSON.stringify(event.payload, null, 2);
    case "diff":
      return diffText(event, style);
    default: {
      const { approvalId, id, status, url } = event.deployment;
      const state = statusName(status);
      const stateText = state !== "live" ? state : event.promoted ? style.green("live") : `${style.green("ready")}, not promoted`;
      const held =
        approvalId === "" ? "" : `\nIt goes live once another person approves it: svc approval approve ${escapeControls(approvalId)}`;
      return `\nDeployment ${escapeControls(id)} is ${stateText}.${held}\n${escapeControls(url)}`;
    }
  }
}

function asJson(event: ApplyEvent): unknown {
  switch (event.kind) {
    case "payload":
      return event.payload;
    case "diff":
      return { deployment_id: null, url: null, status: "dry_run", diff: diffJson(event), payload: event.payload };
    default: {
      const { approvalId, id, status, url } = event.deployment;
      return {
        deployment_id: id,
        url,
        status: statusName(status),
        promoted: event.promoted,
        approval_id: approvalId || null,
        diff: diffJson(event),
        payload: event.payload,
      };
    }
  }
}
