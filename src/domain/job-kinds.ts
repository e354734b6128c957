/** Kinds of jobs that a server runs. */
export const JOB_KINDS = [
  "deployment",
  "deployment-cleanup",
  "erase-environment",
  "approved-change",
  "resolver-run",
  "approvals-upkeep",
  "datasets-upkeep",
  "measure-objects",
  "purge-audit",
  "purge-deliveries",
  "purge-expired",
  "purge-jobs",
  "reseal-approvals",
  "reseal-connections",
  "reseal-secrets",
  "reseal-webhooks",
] as const;
