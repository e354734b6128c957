/**
 * Test files that `bun test/run.ts --quick` leaves out because their subject makes them slow;
 * optimizing them would not help. CI runs all of them.
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
  "test/binary/hostile-requests.test.ts": "waits until the server closes idle connections",
};
