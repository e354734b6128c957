import { defineCommand } from "../cli/command.ts";
import { bool } from "../cli/flag.ts";
import { isExposed, readEntries } from "../config/file.ts";
import { svcHome } from "../config/home.ts";
import { locateConfig } from "../config/location.ts";
import type { Context } from "../context/context.ts";
import { type Check, examine } from "../doctor/examine.ts";
import { visibleLines } from "../domain/visible.ts";
import { type Style, textView } from "../output/view.ts";

/** The actions taken and the checks made. */
interface Report {
  /** Cached tokens that were removed. */
  readonly removed: number;
  /** Files and folders that --fix made private. */
  readonly closed: readonly string[];
  readonly checks: readonly Check[];
}

/** Columns of the longest check name. */
const LABEL_WIDTH = 7;
const MARKS = { ok: "✓", warning: "!", failed: "✗" } as const;

export default defineCommand({
  summary: "Remove cached JWTs, then check config, server and Python",
  category: "Server and account",
  description:
    "The next request exchanges the client ID and secret again; that is of use when the config file changed or a token went stale. Then everything that svc needs is " +
    "examined: the config file, the server's address and the way to it, the server itself, its clock and its parts, the login, Python, the folder of svc's own state, and " +
    "the project of the working directory. What is wrong comes with what mends it. Exit code 1 when a check failed; a warning does not count.",
  examples: [
    "svc doctor",
    { run: "svc doctor --fix", does: "Close the config file and svc's own folder to other users too" },
    { run: "svc doctor --json", does: "Each check with its name, status, message and fix" },
  ],
  flags: { fix: bool("take rights away that other users have on the config file and the folder of svc's state") },
  async run(context, { fix }): Promise<Report> {
    const { http, progress } = context;
    const removed = await http.forgetTokens();
    const closed = fix ? await close(context) : [];
    return { removed, closed, checks: await progress.step("Examining", () => examine(context)) };
  },
  view: textView(({ removed, closed, checks }: Report, style) =>
    [
      `Removed ${removed} cached ${removed === 1 ? "token" : "tokens"}.`,
      ...closed.map((path) => `Closed ${path} to other users.`),
      ...checks.flatMap((check) => lines(check, style)),
    ].join("\n"),
  ),
  exitCode: ({ checks }) => (checks.some(({ status }) => status === "failed") ? 1 : 0),
});

async function close({ flags, machine, surroundings }: Context): Promise<string[]> {
  const { read } = await locateConfig(flags, surroundings);
  const home = svcHome(surroundings);
  const isConfigOpen = read !== undefined && isExposed(read, await readEntries(read).catch(() => new Map()));
  const isHomeOpen = (await machine.folder(home)).isOpenToOthers;
  const closed: string[] = [];
  for (const path of [...(isConfigOpen ? [read] : []), ...(isHomeOpen ? [home] : [])])
    if (await machine.closeToOthers(path)) closed.push(path);
  return closed;
}

/** A check on one line, or on several in a narrow terminal, with its fix below. */
function lines({ name, status, message, fix }: Check, style: Style): string[] {
  const color = { ok: style.green, warning: style.yellow, failed: style.red }[status];
  const indent = `  ${" ".repeat(LABEL_WIDTH)} `;
  const wrapped = (text: string) =>
    visibleLines(text)
      .split("\n")
      .flatMap((line) => (style.isTTY ? Bun.wrapAnsi(line, Math.max(20, style.width - indent.length)).split("\n") : [line]));
  const [first = "", ...rest] = wrapped(message);
  return [
    `${color(MARKS[status])} ${name.padEnd(LABEL_WIDTH)} ${first}`,
    ...rest.map((line) => indent + line),
    ...(fix === null ? [] : wrapped(fix).map((line) => indent + style.dim(line))),
  ];
}
