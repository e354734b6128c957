/** The environment variables that the server passes to Python workers, checked when it starts. */

import { WORKER_ENV_VARIABLE, wrongEntry } from "../../python/user-code-env.ts";
import { StartError } from "../failure.ts";

/** Throws StartError when the list of names has an invalid entry. */
export function refuseWrongWorkerEnv(env: Readonly<Record<string, string | undefined>>): void {
  const wrong = wrongEntry(env);
  if (wrong === undefined) return;
  throw new StartError(
    "setting_invalid",
    `${WORKER_ENV_VARIABLE} has the entry '${wrong}': expected names of environment variables, or beginnings of names with a '*' behind them.`,
    `For example ${WORKER_ENV_VARIABLE}=AWS_REGION,MODEL_*`,
  );
}
