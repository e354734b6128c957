/** The machines a release is built for, and the names of its files. */

/** A machine that builds are made for. */
export interface ReleaseTarget {
  /**
   * `<os>-<arch>`, with `-musl` for a C library other than glibc and `-baseline` for x64 processors
   * without AVX2.
   */
  readonly name: string;
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "amd64" | "arm64" | "386";
  /** Bun's name of the runtime that is built in; undefined where Bun has none. */
  readonly bun: string | undefined;
}

/** Every target of a release. */
export const RELEASE_TARGETS: readonly ReleaseTarget[] = [
  { name: "linux-amd64", os: "linux", arch: "amd64", bun: "bun-linux-x64" },
  { name: "linux-amd64-baseline", os: "linux", arch: "amd64", bun: "bun-linux-x64-baseline" },
  { name: "linux-amd64-musl", os: "linux", arch: "amd64", bun: "bun-linux-x64-musl" },
  { name: "linux-amd64-musl-baseline", os: "linux", arch: "amd64", bun: "bun-linux-x64-musl-baseline" },
  { name: "linux-arm64", os: "linux", arch: "arm64", bun: "bun-linux-arm64" },
  { name: "linux-arm64-musl", os: "linux", arch: "arm64", bun: "bun-linux-arm64-musl" },
  { name: "darwin-amd64", os: "darwin", arch: "amd64", bun: "bun-darwin-x64-baseline" },
  { name: "darwin-arm64", os: "darwin", arch: "arm64", bun: "bun-darwin-arm64" },
  { name: "windows-amd64", os: "windows", arch: "amd64", bun: "bun-windows-x64-baseline" },
  { name: "windows-arm64", os: "windows", arch: "arm64", bun: "bun-windows-arm64" },
];

/**
 * The name of a machine in the notation of targets, also of one that no build is for: `linux-amd64`
 * for Node's `linux` and `x64`.
 */
export function platformName(platform: string, arch: string): string {
  return `${platform === "win32" ? "windows" : platform}-${arch === "x64" ? "amd64" : arch}`;
}

/** The file of a target in a release: `svc-<target>`, on Windows with `.exe`. */
export function releaseFileName(target: string): string {
  return target.startsWith("windows-") ? `svc-${target}.exe` : plainFileName(target);
}

/** The file name of a target without the `.exe` of Windows; every target is found under it. */
export function plainFileName(target: string): string {
  return `svc-${target}`;
}
