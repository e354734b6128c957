/** How a job is named. */

import { UsageError } from "../../errors/cli-error.ts";

/** Throws UsageError for a text that is neither the number of a job nor an id. */
export function checkJobId(id: string | undefined): void {
  if (id !== undefined && !/^(\d{1,15}|[a-z]+_[\w.]+)$/.test(id))
    throw new UsageError(`'${id}' is no job: a job has a number such as 12, and an id such as job_0198c0de`);
}
