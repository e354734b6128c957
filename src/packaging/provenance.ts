/** The origin of a build: the commit and its time, so that the same commit gives the same bytes. */

/** The origin of a build. */
export interface Provenance {
  /**
   * Git commit, with `-dirty` when files differ from it; `unknown` outside a repository or without
   * git.
   */
  readonly commit: string;
  /** RFC 3339, UTC: SOURCE_DATE_EPOCH when it is set, else the time of the commit, else now. */
  readonly builtAt: string;
}

/** The origin of a build from the folder `root`, read with the git on the PATH of `env`. */
export function provenanceOf(root: string, env: Readonly<Record<string, string | undefined>>): Provenance {
  const program = Bun.which("git", { PATH: env.PATH });
  const git = (...args: string[]) => (program === null ? "" : answerOf([program, ...args], root));
  const commit = git("rev-parse", "HEAD");
  const dirty = commit !== "" && git("status", "--porcelain", "--untracked-files=normal") !== "";
  const seconds = Number(env.SOURCE_DATE_EPOCH || git("show", "-s", "--format=%ct", "HEAD") || Math.floor(Date.now() / 1000));
  return { commit: commit === "" ? "unknown" : `${commit}${dirty ? "-dirty" : ""}`, builtAt: timeText(seconds * 1000) };
}

/** RFC 3339 in UTC, to the second, of milliseconds since 1970. */
export function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}

function answerOf(argv: string[], cwd: string): string {
  const result = Bun.spawnSync(argv, { cwd, stderr: "ignore", stdin: "ignore" });
  return result.success ? result.stdout.toString().trim() : "";
}
