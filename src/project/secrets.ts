/**
 * Files that hold secrets by their name. They are left out of a deployment, whose source others can
 * download, unless a .svcignore takes them back in by name: `!.env`, `!certs/*.pem`. The content of
 * files is not considered.
 */

/** Most names that are shown. */
const MOST_NAMES = 8;

const NAMES = [
  /^\.env(?!.*\.(example|sample|template)$)/,
  /\.(pem|key|p12|pfx|jks|keystore|ppk|kubeconfig)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)(?!.*\.pub$)/,
  /^([._]netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|kubeconfig|\.svc\.ya?ml)$/,
  /credentials.*\.json$/,
  /service[-_]account.*\.json$/,
];
const PATHS = /(^|\/)(\.aws\/credentials|\.docker\/config\.json|\.kube\/config|\.config\/svc\.ya?ml)$/;
const FOLDERS = /(^|\/)\.(ssh|svc)\/$/;

/** Whether a file, or a folder (ending in `/`), holds secrets by its name. */
export function looksLikeSecret(path: string): boolean {
  const lower = path.toLowerCase();
  if (lower.endsWith("/")) return FOLDERS.test(lower);
  const name = lower.slice(lower.lastIndexOf("/") + 1);
  return PATHS.test(lower) || NAMES.some((pattern) => pattern.test(name));
}

/** Whether a file or a folder that it is in holds secrets by its name. */
export function liesAmongSecrets(path: string): boolean {
  const ends = [...path.matchAll(/\//g)].map(({ index }) => index + 1);
  return [...ends, path.length].some((end) => looksLikeSecret(path.slice(0, end)));
}

/**
 * Whether a line of a .svcignore takes something back in by name; `!*` and `!src/**` name nothing.
 */
export function takesBackByName(line: string): boolean {
  const [name = ""] = /[^/]*\/?$/.exec(line) ?? [];
  return line.startsWith("!") && /[\p{L}\p{N}]/u.test(name);
}

/**
 * One line that says which files were left out, and how to upload one of them; names are to be
 * printed as they are.
 */
export function secretsLeftOut(paths: readonly string[]): string {
  const [first = ""] = paths;
  const shown = paths.slice(0, MOST_NAMES).join(", ");
  const more = paths.length > MOST_NAMES ? ` and ${paths.length - MOST_NAMES} more` : "";
  const what = paths.length === 1 ? "1 file that looks like a secret is" : `${paths.length} files that look like secrets are`;
  return `${what} left out: ${shown}${more}. To upload one, write its name in .svcignore behind a \`!\`: !${first}`;
}
