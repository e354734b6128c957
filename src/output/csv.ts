/** CSV (RFC 4180), with LF between lines. */

/** Lines of cells. Cells that a spreadsheet would take for a formula are quoted as text. */
export function csvText(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [header, ...rows].map((row) => `${row.map(cellText).join(",")}\n`).join("");
}

function cellText(cell: string | number): string {
  const text = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) && !/^-?\d/.test(cell) ? `'${cell}` : String(cell);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
