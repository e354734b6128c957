/**
 * Folders whose files run several to a process, which loads and compiles the sources once for all of
 * them. Their files leave nothing behind in modules or globals that another could see; each passes
 * alone too, and does in a shuffled run.
 */
export const TOGETHER: readonly string[] = [
  "test/browser",
  "test/cli",
  "test/client",
  "test/commands",
  "test/config",
  "test/context",
  "test/contract",
  "test/disk",
  "test/domain",
  "test/output",
  "test/project",
  "test/python",
  "test/release",
  "test/server",
  "test/ui",
];
