/** The tools of `svc mcp` that work on the project of the folder in which it was started. */

import type { Context } from "../../context/context.ts";
import { namedBranch } from "../../contract/platform-tools.ts";
import { type ApplyEvent, deploy, type Plan } from "../../deploy/deploy.ts";
import { statusName } from "../../deploy/follow.ts";
import { findProvenance } from "../../deploy/provenance.ts";
import { validateProject } from "../../deploy/validate.ts";
import type { Fields } from "../../domain/mcp/json-rpc.ts";
import { bool, text } from "../../domain/mcp/parameter.ts";
import { type AnyTool, defineTool, type Report, ToolFailure } from "../../domain/mcp/tool.ts";
import { findRule, nearRules } from "../../domain/rules/rules.ts";
import { formatDiagnostics } from "../../output/diagnostic.ts";
import { ruleJson } from "../../output/rule-text.ts";
import { loadProject } from "../../project/load.ts";

/** What the tools are made with. */
export interface ProjectToolOptions {
  /** The changes of a deployment, as text. */
  readonly diffText: (plan: Plan) => string;
  /** Whether the tool that deploys to branches is offered. */
  readonly allowsWrites: boolean;
}

/** The tools. One of them works on the project at a time; the files are read anew by each call. */
export function projectTools(context: Context, { diffText, allowsWrites }: ProjectToolOptions): readonly AnyTool[] {
  const inTurn = turns();
  const reading: readonly AnyTool[] = [
    defineTool({
      name: "lint",
      title: "Lint the project",
      description:
        "Findings about the project's Python and SQL, each with file, line and what to write instead. Call it after every change, and before you deploy. It imports the project's own code.",
      parameters: { local: bool("whether to check without the server; default false") },
      call: ({ local = false }, signal, report) =>
        inTurn(async () => {
          const { said, project } = callContext(context, signal, report);
          const { diagnostics, source, serverFailure } = await validateProject(project, { remote: !local });
          if (diagnostics.length > 0) return formatDiagnostics(diagnostics, source);
          const asked = serverFailure === undefined ? "" : ` The server was not asked: ${messageOf(serverFailure)}.`;
          return [...said, `No findings.${asked}`].join("\n");
        }),
    }),
    defineTool({
      name: "explain_rule",
      title: "Explain a rule",
      description: "What a finding of lint means, why the rule is there, and an example of the mistake and its mend.",
      parameters: { rule: text("number or id of the rule, for example 153", { required: true }) },
      async call({ rule: named }) {
        const rule = findRule(named);
        if (rule) return ruleJson(rule) as Fields;
        const near = nearRules(named).map(({ code, id }) => `${code} (${id})`);
        throw new ToolFailure(`There is no such rule${near.length > 0 ? `; the nearest are ${near.join(", ")}` : ""}.`);
      },
    }),
    defineTool({
      name: "preview_deployment",
      title: "Preview a deployment",
      description: "What a deployment of the project would change, compared with what is live. Nothing is deployed.",
      parameters: { branch: text("branch to compare with instead of the environment", { most: 200 }) },
      call: ({ branch }, signal, report) => inTurn(() => deployed(context, { branch, dryRun: true, diffText }, signal, report)),
    }),
  ];
  if (!allowsWrites) return reading;
  return [
    ...reading,
    defineTool({
      name: "deploy_branch",
      title: "Deploy to a branch",
      description:
        "Deploys the project to a branch of its own and waits until it answers; query it with the same `branch`. The environment itself stays as it is: a person deploys there.",
      parameters: { branch: text("name of the branch, which is made if there is none", { required: true, most: 200 }) },
      writes: true,
      call: ({ branch }, signal, report) =>
        inTurn(() => deployed(context, { branch: namedBranch(branch), dryRun: false, diffText }, signal, report)),
    }),
  ];
}

interface DeployChoice {
  readonly branch: string | undefined;
  readonly dryRun: boolean;
  readonly diffText: (plan: Plan) => string;
}

async function deployed(
  context: Context,
  { branch, dryRun, diffText }: DeployChoice,
  signal: AbortSignal,
  report: Report,
): Promise<string> {
  const { said, project } = callContext(context, signal, report);
  const { root } = await project.project();
  const provenance = await findProvenance(context, root, { cicdJobUrl: undefined, vcsUrl: undefined });
  const flags = { force: true, await: true, reset: false, noPromote: false, blueGreen: false, profiling: false, dump: false };
  const rest = { skipLsp: false, skipSqlExtrasCheck: false, tags: [], description: undefined, metadata: [], provenance };
  try {
    const lines: string[] = [];
    for await (const event of deploy(project, { ...flags, ...rest, branch, dryRun })) lines.push(eventText(event, diffText));
    return [...said, ...lines].join("\n");
  } catch (error) {
    const findings = said.join("\n");
    if (findings === "" || !(error instanceof Error)) throw error;
    throw new ToolFailure(`${error.message}\n${findings}`);
  }
}

function eventText(event: ApplyEvent, diffText: (plan: Plan) => string): string {
  if (event.kind === "payload") return "";
  if (event.kind === "diff") return diffText(event);
  const { approvalId, id, status, url } = event.deployment;
  const held = approvalId === "" ? "" : ` It waits for the approval ${approvalId}.`;
  return `Deployment ${id} is ${statusName(status)}.${held} ${url}`;
}

/** A context of one call: the project as it is on the disk now, and what was said meanwhile. */
function callContext(
  context: Context,
  signal: AbortSignal,
  report: Report,
): { readonly project: Context; readonly said: readonly string[] } {
  const { flags, surroundings, progress } = context;
  const said: string[] = [];
  const say = (line: string) => {
    said.push(line);
    report(line);
  };
  const step: Context["progress"]["step"] = (title, work) => {
    report(title);
    return work(report);
  };
  const loaded = loadProject(flags.dir, { env: surroundings.env, note: say });
  loaded.catch(() => undefined);
  const members: Partial<Context> = {
    signal,
    project: () => loaded,
    progress: { ...progress, step, note: say, warn: say },
  };
  const values = Object.entries(members).map(([name, value]) => [name, { value }]);
  return { said, project: Object.create(context, Object.fromEntries(values)) as Context };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A function that does one piece of work after the other. */
function turns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work, work);
    last = next.catch(() => undefined);
    return next;
  };
}
