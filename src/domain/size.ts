/** Sizes of files and messages as text for people, and as people write them. */

/** Bytes as `42.7 MB`; below a tenth of one as `15 kB`, and from a thousand on as `1.5 GB`. */
export function sizeText(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  return bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

const UNIT_BYTES: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** The grammar, for messages about a size that was not understood. */
export const SIZE_GRAMMAR = "a size such as 512, 15kB, 1.5MB or 4KiB";

/** The bytes of a size: a number with a unit in any case, or without one. Undefined for others. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?i?b?)$/i.exec(text.trim());
  const unit = match && UNIT_BYTES[(match[2] as string).toLowerCase()];
  return unit ? Math.round(Number(match[1]) * unit) : undefined;
}
