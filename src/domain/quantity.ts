/** Quantities of resources: a number with a suffix, such as `500m`, `1` or `100Gi`. */

const QUANTITY = /^(\d+(?:\.\d+)?)(?:([numkMGTPE]|[KMGTPE]i)|e([+-]?\d{1,2}))?$/;
const POWERS = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** The number that a quantity stands for; undefined when the text is none. */
export function quantityValue(text: string): number | undefined {
  const [, digits, suffix = "", exponent] = QUANTITY.exec(text) ?? [];
  if (digits === undefined || text.length > 50) return undefined;
  if (exponent !== undefined) return Number(`${digits}e${exponent}`);
  const binary = BINARY.indexOf(suffix);
  return Number(digits) * (binary >= 0 ? 1024 ** (binary + 1) : 1000 ** (POWERS.indexOf(suffix) - POWERS.indexOf("")));
}

/** A number of bytes as a quantity, exactly: in the greatest binary unit that divides it. */
export function bytesQuantity(bytes: number): string {
  const power = bytes === 0 ? -1 : BINARY.findLastIndex((_suffix, index) => bytes % 1024 ** (index + 1) === 0);
  return `${bytes / 1024 ** (power + 1)}${BINARY[power] ?? ""}`;
}
