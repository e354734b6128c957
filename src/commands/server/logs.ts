import { defineCommand } from "../../cli/command.ts";
import { bool, int } from "../../cli/flag.ts";
import { readServerLog, readServerLogFrom, serverFiles } from "../../config/local-server.ts";
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
  let { lines, offset } = await readServerLog(dataDir, count);
  if (lines.length === 0 && offset === 0) progress.note(`There is no log yet in ${serverFiles(dataDir).log}.`);
  for (;;) {
    for (const line of lines) yield parse(line);
    if (!follow) return;
    await clock.sleep(POLL_MS, signal);
    ({ lines, offset } = await readServerLogFrom(dataDir, offset));
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
