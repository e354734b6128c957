/** Sizes in words. */

/** Bytes as `42.7 MB`, or below a tenth of one as `15 kB`. */
export function sizeText(bytes: number): string {
  return bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
