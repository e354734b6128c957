import { defineCommand } from "../../cli/command.ts";
import { bool, choice, int, list, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { ABSENT_JOB_KINDS } from "../../domain/job-kinds.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { checkResourceGroup, resourceGroupFlag } from "../resource-group-flags.ts";
import { checkJobId } from "./job-flags.ts";

/** Kinds of which no job is submitted, with the reason. */
const ABSENT: Readonly<Record<string, string>> = {
  ...ABSENT_JOB_KINDS,
  script_task: "a task is begun by `svc task run`, and once more by `svc task rerun`",
};
const KINDS = [
  ...(["async_offline_query", "scheduled_query", "script_task"] as const),
  ...(Object.keys(ABSENT_JOB_KINDS) as (keyof typeof ABSENT_JOB_KINDS)[]),
];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Flags that cannot do here what they say, with the reason. */
const REFUSED = {
  deploymentId: "a job runs in the deployment that its query names, or in the live one",
  mainlineDeploymentId: "a job runs in the deployment that its query names, or in the live one",
  operationId: "the operations of a query get ids of their own",
  jobIndex: "the jobs of an operation are numbered by the server",
  fetchPriority: "jobs begin with one priority: `svc jobs set-priority` gives one that waits another",
  workflowExecutionId: "a query is a workflow of its own",
  numWorkers: "a query says itself how many of its parts run at once: `svc offline-query --num-shards`",
  sourceUri: "the source is that of the deployment",
  maxAttempts: "the kind of a job says how often it is tried",
  enableProfiling: "profiles are made of deployments: `svc apply --profile`",
  completionDeadlineSeconds: "the kind of a job says how long an attempt may take",
  retryOnCompletionDeadline: "an attempt that took too long is made again in any case",
  operationCompletionDeadlineSeconds: "operations have no deadline",
  retryOnOperationCompletionDeadline: "operations have no deadline",
  envPayload: "jobs run with the variables of their environment",
} as const;

/** A job that was enqueued, with the query that it is a part of. */
interface Submitted {
  readonly number: number;
  readonly id: string;
  readonly state: string;
  readonly operation_id: string;
  readonly query_id: string;
}

export default defineCommand({
  summary: "Enqueue a job, optionally cloned from another",
  description:
    "Begins the offline query of a job again (--from-job), as a workflow of its own, or a scheduled query by its name (--kind scheduled_query --job-name). What a flag " +
    "cannot do in this version is refused by name.",
  examples: [
    { run: "svc jobs submit --from-job 12", does: "The same offline query once more" },
    { run: "svc jobs submit --kind scheduled_query --job-name nightly", does: "A scheduled query now" },
    { run: "svc jobs submit --from-job 12 --resource-group big", does: "The query of a job, in the workers of a resource group" },
  ],
  needs: ["session"],
  flags: {
    fromJob: text("job whose query is begun again, by number or id", { placeholder: "<job>" }),
    kind: choice("kind of the job", KINDS),
    jobName: text("name of the scheduled query", { aliases: ["--name"], placeholder: "<name>" }),
    resourceGroup: resourceGroupFlag("that of the copied job, or of the scheduled query"),
    deploymentId: text("deployment; refused by this version", { aliases: ["--deployment"], placeholder: "<deployment>" }),
    mainlineDeploymentId: text("mainline deployment; refused by this version", { placeholder: "<deployment>" }),
    operationId: text("operation, a UUID; refused by this version", { placeholder: "<uuid>" }),
    jobIndex: int("index within the operation; refused by this version"),
    fetchPriority: int("priority; refused by this version"),
    workflowExecutionId: text("workflow; refused by this version", { placeholder: "<workflow>" }),
    numWorkers: int("gate of the operation; refused by this version", { aliases: ["--concurrency-gate"] }),
    sourceUri: text("source; refused by this version", { aliases: ["--override-source-uri"], placeholder: "<uri>" }),
    maxAttempts: int("attempts at most; refused by this version"),
    enableProfiling: bool("profile the job; refused by this version", { aliases: ["--profile"] }),
    completionDeadlineSeconds: int("limit of an attempt; refused by this version", { aliases: ["--attempt-deadline"] }),
    retryOnCompletionDeadline: bool("try again after it; refused by this version", { aliases: ["--retry-on-attempt-deadline"] }),
    operationCompletionDeadlineSeconds: int("limit of the operation; refused by this version", { aliases: ["--operation-deadline"] }),
    retryOnOperationCompletionDeadline: bool("try again after it; refused by this version", { aliases: ["--retry-on-operation-deadline"] }),
    envPayload: list(
      text("KEY=VALUE of the job's environment; refused by this version", { placeholder: "<key=value>", aliases: ["--env"] }),
    ),
    detach: bool("do not go on with the workflow of the copied job, as is always so", { aliases: ["--detach-workflow"] }),
  },
  check(given) {
    const { fromJob, kind, jobName, operationId, resourceGroup, workflowExecutionId, detach } = given;
    if (detach && workflowExecutionId !== undefined) throw new UsageError("--detach and --workflow-execution-id do not go together");
    if (operationId !== undefined && !UUID.test(operationId)) throw new UsageError("--operation-id must be a UUID");
    if (fromJob === undefined && kind === undefined) throw new UsageError("give --from-job, or --kind");
    checkJobId(fromJob);
    checkResourceGroup(resourceGroup);
    const absent = kind === undefined ? undefined : ABSENT[kind];
    if (absent !== undefined) throw new UsageError(`--kind ${kind} is not supported: ${absent}`);
    for (const [flag, why] of Object.entries(REFUSED) as [keyof typeof REFUSED, string][])
      if (isGiven(given[flag])) throw new UsageError(`${nameOf(flag)} is not supported: ${why}`);
    if (fromJob === undefined && kind === "async_offline_query")
      throw new UsageError("an offline query is more than a job: begin it with `svc offline-query`, or name one to repeat with --from-job");
    if (fromJob === undefined && jobName === undefined) throw new UsageError("--job-name names the scheduled query");
    if (fromJob !== undefined && jobName !== undefined) throw new UsageError("--job-name and --from-job do not go together");
  },
  async run(context, { fromJob, kind, jobName = "", resourceGroup = "" }): Promise<Submitted> {
    const queryId =
      fromJob === undefined
        ? (await (await context.api.scheduledQueries()).triggerScheduledQuery({ name: jobName, resourceGroup })).id
        : await repeated(context, fromJob, { kind, resourceGroup });
    const { jobs } = await (await context.api.jobs()).listJobs({ kinds: ["async_offline_query"], pageSize: 500 });
    const first = jobs.findLast(({ subject }) => subject === queryId);
    if (!first) throw new CliError(`offline query ${queryId} was begun, and its jobs are not listed`, { code: "internal" });
    return { number: Number(first.number), id: first.id, state: "scheduled", operation_id: first.operationId, query_id: queryId };
  },
  view: textView(
    ({ number, state, operation_id, query_id }: Submitted) =>
      `ID:           ${number}\nState:        ${state}\nOperation ID: ${operation_id}\nQuery:        ${query_id}`,
    (submitted: Submitted) => submitted,
  ),
});

/** Begins the offline query of a job again; resolves with the new query's id. */
async function repeated(
  { api }: Pick<Context, "api">,
  id: string,
  { kind, resourceGroup }: { readonly kind: string | undefined; readonly resourceGroup: string },
): Promise<string> {
  const { job } = await (await api.jobs()).getJob({ id });
  if (!job?.subject.startsWith("ofq_"))
    throw new CliError(`job ${id} is ${job ? `a job of kind '${job.kind}'` : "none"}, and jobs of offline queries alone can be repeated`, {
      code: "not_supported",
      hint: "What others are about is repeated by its own command, such as `svc apply` or `svc trigger`.",
    });
  if (kind !== undefined && kind !== "async_offline_query")
    throw new CliError(`job ${id} is of an offline query, and --kind says ${kind}`, { code: "invalid_argument" });
  const { query } = await (await api.offlineQueries()).retryOfflineQuery({ id: job.subject, resourceGroup });
  return query?.id ?? "";
}

function isGiven(value: boolean | number | string | readonly unknown[] | undefined): boolean {
  return value !== undefined && value !== false && (typeof value !== "object" || value.length > 0);
}

function nameOf(flag: string): string {
  return `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
