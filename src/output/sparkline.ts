/** A row of values as a line of blocks. */

const BLOCKS = [..."▁▂▃▄▅▆▇█"];
const ASCII = [..."_.-=+*#"];

/**
 * A character for each value, by its share of the largest one; a blank where there is none. With
 * more values than `width` each character has the largest of several.
 */
export function sparkline(
  values: readonly (number | undefined)[],
  { ascii = false, width = values.length }: { readonly ascii?: boolean; readonly width?: number } = {},
): string {
  const shown = compressed(values, Math.min(width, values.length));
  const largest = Math.max(0, ...shown.map((value) => value ?? 0));
  const signs = ascii ? ASCII : BLOCKS;
  return shown
    .map((value) => {
      if (value === undefined) return " ";
      const share = largest > 0 ? Math.max(0, value) / largest : 0;
      return signs[Math.min(Math.ceil(share * signs.length), signs.length) - 1] ?? signs[0];
    })
    .join("");
}

/** Values in fewer places: each has the largest of those that fall into it. */
export function compressed(values: readonly (number | undefined)[], places: number): (number | undefined)[] {
  return Array.from({ length: places }, (_, place) => {
    const from = Math.floor((place * values.length) / places);
    const to = Math.max(from + 1, Math.floor(((place + 1) * values.length) / places));
    return values.slice(from, to).reduce(larger, undefined);
  });
}

function larger(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : other === undefined ? one : Math.max(one, other);
}
