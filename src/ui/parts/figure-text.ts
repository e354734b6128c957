/** Numbers as pages write them. */

const UNITS = ["", "k", "M", "G", "T"];

/** A number with three digits that count, and k, M, G, T from a thousand on: `12.3k`. */
export function figureText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  const unit = size < 1_000 ? 0 : Math.min(Math.floor(Math.log10(size) / 3), UNITS.length - 1);
  const scaled = Number((value / 1_000 ** unit).toPrecision(3));
  return `${Math.abs(scaled) >= 1_000 && unit < UNITS.length - 1 ? `${scaled / 1_000}${UNITS[unit + 1]}` : `${scaled}${UNITS[unit]}`}`;
}
