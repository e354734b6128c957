/**
 * Reading the last output of a crashed interpreter: Python's fault handler is on, which prints the
 * stack of every thread.
 */

/** A frame in a project file. */
export interface ProjectFrame {
  /** Path relative to the project's root, with `/`. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  readonly function: string;
}

/**
 * The innermost frame in a project file in the fault handler's dump in `stderr`, of the thread that
 * failed first if it has one. Undefined when there is no dump or no such frame.
 */
export function crashedAt(stderr: string, root: string): ProjectFrame | undefined {
  const current = stderr.lastIndexOf("Current thread ");
  const dumps = current < 0 ? [stderr] : [stderr.slice(current), stderr];
  const prefix = root.endsWith("/") ? root : `${root}/`;
  for (const text of dumps)
    for (const [, path, line, name] of text.matchAll(/^ {2}File "(.+)", line (\d+) in (.+)$/gm))
      if (path?.startsWith(prefix)) return { file: path.slice(prefix.length), line: Number(line), function: name ?? "" };
  return undefined;
}

/** The last lines that a process wrote before it ended, without the fault handler's dump. */
export function lastOutput(stderr: string, count: number): string[] {
  const dump = stderr.search(/^(Fatal Python error: |Current thread 0x|Thread 0x)/m);
  const fatal = /^Fatal Python error: .*$/m.exec(stderr)?.[0];
  const output = (dump < 0 ? stderr : stderr.slice(0, dump)).trimEnd();
  const lines = output === "" ? [] : output.split("\n");
  if (fatal) lines.push(fatal);
  return lines.slice(-count).map((line) => line.slice(0, 500));
}
