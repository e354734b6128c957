/**
 * Programs and rights that tests need besides Bun and Python. A test that needs an absent one is
 * skipped, and the process names it once, in a line that `test/run.ts` collects. With
 * SVC_TEST_REQUIRE_ALL=1 a program or library that is absent is an error instead.
 */

/** Prefix of the line that names an absent program or right. */
export const ABSENT = "Skipped for want of: ";

/**
 * What no Debian package has, or not in the version wanted, or a run is given where there is one,
 * and so is never required.
 */
const NEVER_REQUIRED = [
  "pwsh",
  "otelcol",
  "actionlint",
  "grpcurl",
  "h2spec",
  "onnxruntime",
  "chdb",
  "Go 1.22",
  "arrow-go",
  "docker",
  "kubernetes",
];

const said = new Set<string>();

/**
 * Whether any of these programs cannot be found. `PATH` is searched, and the folders of servers,
 * which are not on every user's.
 */
export function lacksProgram(...names: readonly string[]): boolean {
  return names.filter((name) => lacks(name, programPath(name) !== undefined)).length > 0;
}

/** Path of a program, or undefined when there is none. */
export function programPath(name: string): string | undefined {
  return Bun.which(name, { PATH: `${process.env.PATH ?? ""}:/usr/sbin:/usr/local/sbin` }) ?? undefined;
}

/**
 * Whether a library or another part of the system with this name is absent: the opposite of
 * `isThere`.
 */
export function lacks(name: string, isThere: boolean): boolean {
  if (!isThere && process.env.SVC_TEST_REQUIRE_ALL === "1" && !NEVER_REQUIRED.includes(name))
    throw new Error(`${name} is not installed, and SVC_TEST_REQUIRE_ALL=1 lets no test be skipped for that`);
  return lacksRight(name, isThere);
}

/** Whether a right that cannot be installed is denied to this user: the opposite of `isAllowed`. */
export function lacksRight(name: string, isAllowed: boolean): boolean {
  if (!isAllowed && !said.has(name)) {
    said.add(name);
    console.log(`${ABSENT}${name}`);
  }
  return !isAllowed;
}

/**
 * Whether namespaces cannot be made here; `flags` are those of `unshare`, such as `-rm` for private
 * mounts.
 */
export function lacksNamespaces(flags: string): boolean {
  const isLinux = process.platform === "linux";
  if (isLinux && lacksProgram("unshare")) return true;
  return lacksRight(`namespaces (unshare ${flags})`, isLinux && Bun.spawnSync(["unshare", flags, "true"], { stderr: "ignore" }).success);
}

/** Whether this user is not root. */
export function lacksRoot(): boolean {
  return lacksRight("root", process.getuid?.() === 0);
}
