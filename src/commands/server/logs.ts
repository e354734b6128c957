import { defineCommand } from "../../cli/command.ts";
import { bool, int } from "../../cli/flag.ts";
import { logFiles, readServerLog, readServerLogSince } from "../../config/server-log.ts";
import type { Context } from "../../context/context.ts";
import { escapeControls } from "../../domain/name.ts";
import { type Style, textView } from "../../output/view.ts";
import { dataDirFlag, dataDirOf } from "./flags.ts";

const POLL_MS = 250;

interface LogLine {
  readonly time?: string;
  readonly level?: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export default defineCommand({
  summary: "Print the log of the embedded server",
  description:
    "The log is server.log in the data directory. It is begun anew at 16 MiB, while the server runs; the two files before it are kept as server.log.1 and " +
    "server.log.2. Lines that a full disk refused are counted, and a line says how many are missing.",
  examples: ["svc server logs", "svc server logs --follow", "svc server logs --lines 1000 --json"],
  flags: {
    ...dataDirFlag,
    lines: int("lines to begin with", { default: 100, aliases: ["-n", "--limit"] }),
    follow: bool("go on printing what is logged, until interrupted", { aliases: ["-f"] }),
  },
  run: (context, { dataDir, lines, follow }) => logLines(context, dataDirOf(context, dataDir), Math.max(0, lines), follow),
  view: textView(asText),
});

async function* logLines({ clock, progress, signal }: Context, dataDir: string, count: number, follow: boolean): AsyncIterable<LogLine> {
  let { lines, position } = await readServerLog(dataDir, count);
  if (position === undefined) progress.note(`There is no log yet in ${logFiles(dataDir)[0]}.`);
  for (;;) {
    for (const line of lines) yield parse(line);
    if (!follow) return;
    await clock.sleep(POLL_MS, signal);
    ({ lines, position } = await readServerLogSince(dataDir, position));
  }
}

function parse(line: string): LogLine {
  try {
    const parsed = JSON.parse(line) as Record<string, unknown>;
    return { ...parsed, message: String(parsed.message ?? "") };
  } catch {
    return { message: line };
  }
}

function asText({ time, level, message, ...fields }: LogLine, style: Style): string {
  const name = (level ?? "").toUpperCase().padEnd(7);
  const mark = level === "error" ? style.red : level === "warning" ? style.yellow : style.cyan;
  const facts = Object.entries(fields).map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [
    time ? style.dim(escapeControls(String(time))) : "",
    mark(name),
    escapeControls(message),
    style.dim(escapeControls(facts.join(" "))),
  ]
    .filter((part) => part !== "")
    .join(" ");
}
