/**
 * The checks of everything that svc needs to work. Nothing is changed, except that an empty virtual
 * environment is made for the check of Python.
 */

import { buildInfo } from "../build-info.ts";
import { isExposed, readEntries } from "../config/file.ts";
import { svcHome } from "../config/home.ts";
import { locateConfig } from "../config/location.ts";
import { describeSource } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import type { Context } from "../context/context.ts";
import { formatDuration } from "../domain/duration.ts";
import { isError } from "../domain/finding.ts";
import { isSound } from "../domain/server-part.ts";
import { sizeText } from "../domain/size.ts";
import { CliError } from "../errors/cli-error.ts";
import { toCliError } from "../errors/report.ts";
import type { Project } from "../project/project.ts";

/** One check and its result. */
export interface Check {
  readonly name: string;
  readonly status: "ok" | "warning" | "failed";
  readonly message: string;
  /** The fix; null when nothing is wrong, or no fix is known. */
  readonly fix: string | null;
}

type Finding = Omit<Check, "name">;

/**
 * Milliseconds by which two clocks may differ: time-limited signatures and times such as `--now 5m`
 * depend on them.
 */
const CLOCK_TOLERANCE_MS = 30_000;
/**
 * Free space below which an installation of requirements is likely to fail, and below which most
 * other things fail too.
 */
const LOW_SPACE_BYTES = 1e9;
const MIN_SPACE_BYTES = 1e8;

const LOG_HINT = "The log of the server says more; of one on this machine, `svc server logs` prints it.";

const ok = (message: string): Finding => ({ status: "ok", message, fix: null });
const warning = (message: string, fix: string): Finding => ({ status: "warning", message, fix });
const failed = (message: string, fix: string | null): Finding => ({ status: "failed", message, fix });

/** Runs all checks. A check whose precondition failed is left out. */
export async function examine(context: Context): Promise<readonly Check[]> {
  const config = await runCheck(context, "config", () => configFile(context));
  const project = context.project();
  project.catch(() => undefined);
  const settings = context.settings();
  const areSettled = await settings.then(
    () => true,
    () => false,
  );
  const [server, ...own] = await Promise.all([
    config.status === "failed" && !areSettled ? [] : serverChecks(context, settings),
    runCheck(context, "python", () => python(context, settings, project)),
    runCheck(context, "state", () => stateFolder(context)),
    runCheck(context, "project", () => projectFile(project)),
  ]);
  return [config, ...server, ...own];
}

/** A check by name; an error is a failed check. */
async function runCheck(context: Context, name: string, find: () => Promise<Finding>): Promise<Check> {
  try {
    return { name, ...(await find()) };
  } catch (error) {
    context.signal.throwIfAborted();
    const known = error instanceof Error && error.name === "ToolchainError" ? new CliError(error.message) : await toCliError(error);
    return { name, ...failed(known.message, known.hint ?? null) };
  }
}

async function configFile({ flags, surroundings }: Context): Promise<Finding> {
  const { read, write } = await locateConfig(flags, surroundings);
  if (read === undefined) return ok(`none yet; \`svc login\` writes ${write}`);
  if (isExposed(read, await readEntries(read)))
    return failed(`${read} holds a client secret that other users of this machine may read`, "Run `svc doctor --fix`.");
  return ok(read);
}

/** The checks of the server, up to the first failure that prevents the others. */
async function serverChecks(context: Context, settings: Promise<Settings>): Promise<readonly Check[]> {
  const address = await runCheck(context, "address", () => serverAddress(context, settings));
  if (address.status === "failed") return [address];
  const before = context.clock.now();
  let skew: number | undefined;
  const server = await runCheck(context, "server", async () => {
    const { status, time, version } = await context.http.ping();
    if (time !== undefined) skew = (before + context.clock.now()) / 2 - (time + 500);
    if (status !== "ok") return failed(`it answers that it is '${status}'`, LOG_HINT);
    if (version !== "" && version !== buildInfo.version)
      return warning(
        `it runs ${version}, and this is svc ${buildInfo.version}`,
        `Run \`svc update --version ${version}\`, or update the server.`,
      );
    return ok(`answers${version === "" ? "" : `, ${version}`}`);
  });
  if (server.status === "failed") return [address, server];
  const login = await runCheck(context, "login", () => credentials(context, settings));
  return [
    address,
    server,
    ...(skew === undefined ? [] : [{ name: "clock", ...clock(skew) }]),
    login,
    ...(login.status === "failed" ? [] : [await runCheck(context, "health", () => health(context))]),
  ];
}

async function serverAddress({ http }: Context, settings: Promise<Settings>): Promise<Finding> {
  const { value, source } = (await settings).apiServer;
  const { authoritiesFault, proxy } = await http.route();
  const address = `${value} (${describeSource(source)})${proxy ? `, through the proxy ${proxy}` : ""}`;
  if (authoritiesFault === undefined) return ok(address);
  return warning(`${address}; ${authoritiesFault}`, "Correct the variable, or unset it.");
}

function clock(skew: number): Finding {
  const apart = formatDuration(Math.round(Math.abs(skew) / 1000) * 1000);
  if (Math.abs(skew) <= CLOCK_TOLERANCE_MS) return ok("goes with that of the server");
  return warning(
    `${apart} ${skew > 0 ? "ahead of" : "behind"} that of the server`,
    "Set the clock that is wrong; a time server (NTP) keeps it right.",
  );
}

async function credentials({ api }: Context, settings: Promise<Settings>): Promise<Finding> {
  const found = await settings;
  if (!found.hasCredentials) return failed(`not logged in to ${found.apiServer.value}`, "Run `svc login`.");
  const { environmentId, userId } = await (await api.auth()).whoAmI({});
  const { source } = found.accessToken.value === undefined ? found.clientSecret : found.accessToken;
  return ok(`${userId}${environmentId && ` in ${environmentId}`} (${describeSource(source)})`);
}

async function health({ api }: Context): Promise<Finding> {
  const failing = (await (await api.health()).checkHealth({})).checks.filter((part) => !isSound(part));
  if (failing.length === 0) return ok("all parts of the server work");
  return failed(failing.map(({ name, message }) => (message ? `${name}: ${message}` : name)).join("; "), LOG_HINT);
}

/**
 * The check of Python for the project's runtime, with a virtual environment; a warning when
 * requirements cannot be installed into one.
 */
async function python(context: Context, settings: Promise<Settings>, project: Promise<Project>): Promise<Finding> {
  const { machine, signal } = context;
  const chosen = await settings.catch(() => undefined);
  const { runtime } = await project.then(
    (found) => found.environment(chosen?.environment.value),
    () => ({ runtime: undefined }),
  );
  await context.python().environmentPython({ signal, ...(runtime === undefined ? {} : { runtime }) });
  const { found } = await context.python().findInterpreter(runtime);
  const version = `${found?.version} at ${found?.path}`;
  const hasInstaller =
    machine.which("uv") !== undefined || (await machine.run([found?.path ?? "", "-I", "-c", "import ensurepip"])).exitCode === 0;
  if (hasInstaller) return ok(version);
  return warning(
    `${version}; it has no pip, so requirements cannot be installed`,
    `Install uv (https://docs.astral.sh/uv), or on Debian and Ubuntu: sudo apt-get install python${found?.version.replace(/\.\d+$/, "")}-venv`,
  );
}

async function stateFolder({ machine, surroundings }: Context): Promise<Finding> {
  const home = svcHome(surroundings);
  const { freeBytes, isOpenToOthers, isWritable, path } = await machine.folder(home);
  if (!isWritable)
    return failed(`${path} may not be written by this user`, "Change its owner or its rights, or name another folder in SVC_HOME.");
  if (isOpenToOthers)
    return failed(
      `other users of this machine may change files in ${home}, which holds programs that run as you`,
      "Run `svc doctor --fix`.",
    );
  if (freeBytes === undefined) return ok(home);
  const room = `${home}, ${sizeText(freeBytes)} free`;
  const fix = "Make room on that device, or name a folder on another one in SVC_HOME.";
  if (freeBytes < MIN_SPACE_BYTES) return failed(room, fix);
  return freeBytes < LOW_SPACE_BYTES ? warning(room, fix) : ok(room);
}

async function projectFile(project: Promise<Project>): Promise<Finding> {
  try {
    const { configPath, diagnostics } = await project;
    const errors = diagnostics.filter(isError).length;
    return errors === 0
      ? ok(configPath)
      : failed(`${configPath} has ${errors === 1 ? "an error" : `${errors} errors`}`, "Run `svc lint --local`.");
  } catch (error) {
    if (error instanceof CliError && error.code === "no_project") return ok("none in this folder or above");
    throw error;
  }
}
