/**
 * What goes over the WebSocket of a shell: bytes of a stream as binary messages, whose first byte
 * names the stream, and everything else as JSON.
 */

/** The header with the ticket. */
export const TICKET_HEADER = "svc-shell-ticket";
/** Headers that pages offer as protocols. */
const OFFERED = [TICKET_HEADER, "svc-page-key"];
/** The protocol of the WebSocket. */
export const SHELL_PROTOCOL = "svc-shell";

/**
 * The protocols that a page offers: browsers send no headers of a page's own with a WebSocket, so
 * the values of those stand in protocols that nobody chooses.
 */
export function offeredProtocols(headers: Readonly<Record<string, string>>): string[] {
  return [SHELL_PROTOCOL, ...Object.entries(headers).map(([name, value]) => `${name}.${value}`)];
}

/** The headers of a page that stand in the protocols which it offers; undefined when none does. */
export function headersOffered(protocols: string): Readonly<Record<string, string>> | undefined {
  const all = protocols.split(",").map((protocol) => protocol.trim());
  if (!all.includes(SHELL_PROTOCOL)) return undefined;
  const valuesOf = (name: string) => all.filter((one) => one.startsWith(`${name}.`)).map((one) => [name, one.slice(name.length + 1)]);
  return Object.fromEntries(OFFERED.flatMap(valuesOf));
}

/** The streams of a program. A terminal has one for all that it shows: `stdout`. */
export const STREAMS = { stdin: 0, stdout: 1, stderr: 2 } as const;

/** Name of a stream. */
export type ShellStream = keyof typeof STREAMS;

/** What a client says, beside the bytes of stdin. */
export type ShellRequest =
  | { readonly is: "resize"; readonly columns: number; readonly rows: number }
  /** Stdin has ended. */
  | { readonly is: "end" };

/** What a server says, beside the bytes of the outputs. */
export type ShellEvent =
  | { readonly is: "opened"; readonly id: string }
  /** The program has taken this many more bytes of stdin. */
  | { readonly is: "taken"; readonly bytes: number }
  /** It has ended, with a code as shells report it. */
  | { readonly is: "exit"; readonly code: number }
  /** It was ended, or never began. */
  | { readonly is: "failed"; readonly message: string; readonly hint: string };

/** Most bytes of a message to the server, without its first. */
export const MAX_CHUNK = 32 * 1024;
/** Bytes of stdin that a client may send before some of them are taken. */
export const STDIN_WINDOW = 256 * 1024;
/** Largest size of a terminal. */
export const MAX_CELLS = 1_000;

/** A message with bytes of a stream. */
export function streamMessage(stream: ShellStream, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(bytes.length + 1);
  message[0] = STREAMS[stream];
  message.set(bytes, 1);
  return message;
}

/** The stream and the bytes of a message; undefined for one of no stream. */
export function readStreamMessage(message: Uint8Array): { readonly stream: ShellStream; readonly bytes: Uint8Array } | undefined {
  const stream = (Object.keys(STREAMS) as ShellStream[]).find((name) => STREAMS[name] === message[0]);
  return stream && { stream, bytes: message.subarray(1) };
}

/** What a client said; undefined for what is nothing of it. */
export function readShellRequest(text: string): ShellRequest | undefined {
  const { is, columns, rows } = objectOf(text);
  if (is === "end") return { is };
  return is === "resize" && isSize(columns) && isSize(rows) ? { is, columns, rows } : undefined;
}

/** What a server said; undefined for what is nothing of it. */
export function readShellEvent(text: string): ShellEvent | undefined {
  const { is, id, bytes, code, message, hint } = objectOf(text);
  if (is === "opened" && typeof id === "string") return { is, id };
  if (is === "taken" && Number.isSafeInteger(bytes)) return { is, bytes: bytes as number };
  if (is === "exit" && Number.isSafeInteger(code)) return { is, code: code as number };
  if (is === "failed" && typeof message === "string" && typeof hint === "string") return { is, message, hint };
  return undefined;
}

/** Whether a number is one of columns or rows. */
export function isSize(cells: unknown): cells is number {
  return Number.isInteger(cells) && (cells as number) >= 1 && (cells as number) <= MAX_CELLS;
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
