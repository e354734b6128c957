/** This program as a command, for what starts it again with a hidden verb. */

/** The command: the binary, or the runtime with the entry file. */
export function ownProgram(): string[] {
  const isBinary = /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/.test(Bun.main);
  return isBinary ? [process.execPath] : [process.execPath, Bun.fileURLToPath(new URL("../../main.ts", import.meta.url))];
}
