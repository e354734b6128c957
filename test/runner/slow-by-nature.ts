/**
 * Test files that `bun test/run.ts --quick` leaves out because their subject makes them slow;
 * optimizing them would not help. CI runs all of them. Run those of what you changed by their path.
 */
export const SLOW_BY_NATURE: Readonly<Record<string, string>> = {
  "test/binary/update-windows.test.ts": "Wine, and releases built for Windows",
  "test/binary/windows.test.ts": "Wine, and a binary built for Windows",
  "test/packaging/release.test.ts": "two release builds, compared",
  "test/install/machines.test.ts": "real installations under every shell",
  "test/install/refusals.test.ts": "real installations with every downloader",
  "test/install/root-filesystem.test.ts": "real installations in file systems of their own",
  "test/install/manual.test.ts": "real installations",
  "test/install/start-files.test.ts": "real installations",
  "test/install/air-gap.test.ts": "real installations on machines of their own network",
  "test/binary/update.test.ts": "real updates between release builds",
  "test/binary/update-killed.test.ts": "updates killed at every system call",
  "test/binary/answers.test.ts": "waits for the deadlines of the command line",
  "test/binary/wrong-servers.test.ts": "waits for the deadlines of the command line",
  "test/binary/secrets.test.ts": "every command, with credentials from every place that they may come from",
  "test/binary/failing-disk.test.ts": "servers whose system calls fail, one after the other",
  "test/binary/hostile-fuzz.test.ts": "every method and path, with bytes that are no request",
  "test/parsing/parsers.test.ts": "every parser, with texts at random and far too long",
  "test/python/venv.test.ts": "real installations of Python packages",
  "test/server/stores/durability.test.ts": "servers killed while they write, again and again",
  "test/server/jobs/kills.test.ts": "nodes killed while they work, again and again",
  "test/binary/hostile-requests.test.ts": "waits until the server closes idle connections",
};
