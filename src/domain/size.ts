/** Sizes of files as text for people. */

/** Bytes as `42.7 MB`; below a tenth of one as `15 kB`, and from a thousand on as `1.5 GB`. */
export function sizeText(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  return bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
