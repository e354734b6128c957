/** Kinds of jobs that a server runs. */
export const JOB_KINDS = [
  "deployment",
  "deployment-cleanup",
  "erase-environment",
  "approved-change",
  "resolver-run",
  "aggregate_backfill",
  "script_task",
  "evaluation",
  "function_call",
  "benchmark",
  "scheduled_query",
  "async_offline_query",
  "value-upload",
  "aggregates-upkeep",
  "approvals-upkeep",
  "datasets-upkeep",
  "evaluate-monitors",
  "measure-objects",
  "offline-queries-upkeep",
  "purge-audit",
  "purge-dead-letters",
  "purge-deliveries",
  "purge-expired",
  "purge-jobs",
  "purge-value-uploads",
  "reseal-approvals",
  "reseal-connections",
  "reseal-scaling-groups",
  "reseal-secrets",
  "reseal-webhooks",
] as const;

/** Kinds that this version knows by name and has no jobs of, with the reason. */
export const ABSENT_JOB_KINDS = {
  svcsql_run: "statements are run by `svc sql`",
  dataframe_run: "this version of svc runs no data frames",
} as const;
