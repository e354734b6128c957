/**
 * The environment variables that a project's code, and the installers of its requirements, may see:
 * those that programs need to run at all, and those that were allowed by name.
 */

/**
 * Environment variable with the names of further variables to allow, such as `AWS_REGION,MODEL_*`.
 */
export const WORKER_ENV_VARIABLE = "SVC_WORKER_ENV";

type Environment = Readonly<Record<string, string | undefined>>;

/** Names, and prefixes of names that end with `*`. */
const USER_CODE = [
  "PATH HOME USER LOGNAME LANG LANGUAGE LC_* TZ TMPDIR TEMP TMP SystemRoot LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONHASHSEED",
  "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE",
].flatMap((names) => names.split(" "));

/**
 * Variables of installers, which reach package indexes, through proxies and with their own
 * credentials, and build from source.
 */
const INSTALLER = [
  "PIP_* UV_* HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy CURL_CA_BUNDLE NETRC XDG_* APPDATA LOCALAPPDATA",
  "SSH_AUTH_SOCK GIT_* CC CXX CPP AR LD CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH LIBRARY_PATH PKG_CONFIG* CMAKE_* CARGO_* RUSTUP_* RUSTFLAGS MACOSX_DEPLOYMENT_TARGET SDKROOT",
].flatMap((names) => names.split(" "));

/**
 * Variables that a project's code never sees, even when allowed: it could sign tokens with them, or
 * act as this server at the identity provider.
 */
const WITHHELD: ReadonlySet<string> = new Set(["SVC_SERVER_KEY", "SVC_OIDC_CLIENT_SECRET"]);

const ENTRY = /^[A-Za-z_][A-Za-z0-9_]*\*?$/;

/** The variables that a project's code sees, at its import and in resolvers. */
export function userCodeEnv(env: Environment): Record<string, string> {
  return pick(env, [...USER_CODE, ...allowedByName(env)]);
}

/** The variables that pip and uv see when they install a project's requirements. */
export function installerEnv(env: Environment): Record<string, string> {
  return pick(env, [...USER_CODE, ...INSTALLER, ...allowedByName(env)]);
}

/**
 * The first entry of `SVC_WORKER_ENV` that is neither a name nor a prefix of names; undefined when
 * there is none.
 */
export function wrongEntry(env: Environment): string | undefined {
  return entries(env).find((entry) => !ENTRY.test(entry));
}

function allowedByName(env: Environment): string[] {
  return entries(env).filter((entry) => ENTRY.test(entry));
}

function entries(env: Environment): string[] {
  return (env[WORKER_ENV_VARIABLE] ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

function pick(env: Environment, names: readonly string[]): Record<string, string> {
  const whole = new Set(names);
  const beginnings = names.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  const picked: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !WITHHELD.has(name) && (whole.has(name) || beginnings.some((beginning) => name.startsWith(beginning))))
      picked[name] = value;
  return picked;
}
