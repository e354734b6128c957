/** The names and values that secrets may have: those of environment variables. */

/** Most secrets of an environment, without the variables of integrations. */
export const MAX_SECRETS = 500;
/** Most bytes of one value. */
export const MAX_SECRET_BYTES = 32 * 1024;
/** Most bytes of all names and values that the workers of one environment are given. */
export const MAX_ENVIRONMENT_BYTES = 256 * 1024;

const MAX_NAME_LENGTH = 128;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Variables that steer the worker process itself: who may set a secret may not thereby change what
 * code runs.
 */
const RESERVED =
  /^(?:PATH|HOME|IFS|ENV|BASH_ENV|TARGET_ROOT|GCONV_PATH|LD_.*|DYLD_.*|PYTHON.*|SVC_DEPLOYMENT_ID|SVC_ENVIRONMENT_NAME|SVC_WORKER_.*|SVC_SERVER_.*)$/i;

/** What is wrong with a secret's name, as a phrase that follows it; undefined when nothing is. */
export function secretNameProblem(name: string): string | undefined {
  if (name === "") return "is empty";
  if (name.length > MAX_NAME_LENGTH) return `is longer than ${MAX_NAME_LENGTH} characters`;
  if (!NAME.test(name)) return "is no name of an environment variable: letters, digits and _, and no digit in front";
  if (RESERVED.test(name)) return "is reserved: it steers the worker process itself";
  return undefined;
}

/** What is wrong with a secret's value, as a phrase that follows its name; undefined = nothing. */
export function secretValueProblem(value: string): string | undefined {
  if (value === "") return "has an empty value";
  if (value.includes("\0")) return "has a value with a NUL character, which no environment variable can hold";
  const bytes = Buffer.byteLength(value);
  return bytes > MAX_SECRET_BYTES ? `has a value of ${bytes} bytes, and ${MAX_SECRET_BYTES} are the most` : undefined;
}

/**
 * A secret that is shown without being revealed: its last four characters, when enough others stay
 * hidden.
 */
export function maskedSecret(value: string): string {
  const hidden = "********";
  return value.length >= 12 ? `${hidden}${value.slice(-4)}` : hidden;
}
