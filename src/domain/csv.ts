/** Comma-separated values as RFC 4180 writes them: quotes around a cell, two for one in it. */

/** A text that is none, with the line of it. */
export class CsvError extends Error {
  override readonly name = "CsvError";
}

/**
 * The rows of a text, each a list of cells; empty lines are none. A byte order mark is left out.
 * Throws CsvError for a quote that does not end, or that something follows, and beyond `mostRows`.
 */
export function parseCsv(text: string, mostRows = Number.POSITIVE_INFINITY): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let line = 1;
  let at = text.startsWith("\ufeff") ? 1 : 0;
  const endRow = () => {
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
    if (rows.length > mostRows) throw new CsvError(`Line ${line}: there are more than ${mostRows.toLocaleString("en")} rows.`);
  };
  while (at < text.length || row.length > 0) {
    const cell = text[at] === '"' ? quotedCell(text, at, line) : plainCell(text, at);
    row.push(cell.value);
    line += cell.lines;
    at = cell.end;
    if (text[at] === ",") {
      at++;
      // A comma at the end of the text is followed by an empty cell.
      if (at < text.length) continue;
      row.push("");
    }
    endRow();
    if (text[at] === "\r") at++;
    if (text[at] === "\n") at++;
    line++;
  }
  return rows;
}

interface Cell {
  readonly value: string;
  readonly end: number;
  /** Line breaks in it. */
  readonly lines: number;
}

function plainCell(text: string, from: number): Cell {
  let end = from;
  while (end < text.length && text[end] !== "," && text[end] !== "\n" && text[end] !== "\r") end++;
  return { value: text.slice(from, end), end, lines: 0 };
}

function quotedCell(text: string, from: number, line: number): Cell {
  let end = from + 1;
  for (;;) {
    end = text.indexOf('"', end);
    if (end < 0) throw new CsvError(`Line ${line}: a quote begins here and does not end.`);
    if (text[end + 1] !== '"') break;
    end += 2;
  }
  const value = text.slice(from + 1, end).replaceAll('""', '"');
  const next = text[end + 1];
  const lines = value.split("\n").length - 1;
  if (next !== undefined && !/[,\r\n]/.test(next)) throw new CsvError(`Line ${line + lines}: something follows the end of a quote.`);
  return { value, end: end + 1, lines };
}

/**
 * Rows as a text. Text that a spreadsheet would compute is kept from that by an apostrophe, so that
 * it does not read back the same.
 */
export function csvText(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
}

function csvCell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) && !/^-?[\d.e+-]+$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
