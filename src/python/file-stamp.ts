import { statSync } from "node:fs";

/**
 * A text that differs after a file or folder changed: device, inode, size and modification time,
 * with links followed. Empty when nothing can be read at the path.
 */
export function fileStamp(path: string): string {
  try {
    const { dev, ino, size, mtimeMs } = statSync(path);
    return `${dev}/${ino}/${size}/${mtimeMs}`;
  } catch {
    return "";
  }
}
