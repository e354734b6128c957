/**
 * Asks a server of the compiled binary for hours and prints what it holds: memory, file
 * descriptors, threads, workers and files, each minute, and their drift.
 *
 *   bun build.ts --single && bun test/bench/soak.ts --minutes 60 --rate 150 [--ids 5000] [--every 60] [--json]
 *
 * `--rate` is queries a second, over all kinds: stored, computed in Python, translated, failing,
 * printing. `--ids` is from how many rows they take theirs: the store keeps as many rows in memory
 * as it may, so that memory levels off only when all of them were asked for. Drift is from the
 * first mark after a quarter of the time to the last, in percent.
 */

import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "../harness/sandbox.ts";

const FEATURES = `import os

from svc import online
from svc.features import feature, features


@features
class User:
    id: int
    kept: str = feature(max_staleness="1h")
    computed: int
    translated: int
    failing: int
    printing: int


@online
def kept(id: User.id) -> User.kept:
    return "user %s, %s" % (id, "x" * 40)


@online
def computed(id: User.id) -> User.computed:
    return len(os.path.join("a", str(id)))


@online
def translated(id: User.id) -> User.translated:
    return id * 2 + 1


@online
def failing(id: User.id) -> User.failing:
    raise ValueError("no value for %s" % id)


@online
def printing(id: User.id) -> User.printing:
    print("printed for", id)
    return id
`;

const OUTPUTS: readonly (readonly string[])[] = [
  ["user.kept"],
  ["user.kept", "user.translated"],
  ["user.computed"],
  ["user.translated"],
  ["user.kept", "user.computed", "user.translated"],
  ["user.failing"],
  ["user.printing"],
  ["user.unknown"],
];

const CONNECTIONS = 4;

/** How long, and how much. */
export interface Soak {
  readonly seconds: number;
  /** Queries a second; zero = as many as it takes. */
  readonly rate: number;
  /** Rows that are asked for. */
  readonly ids: number;
  /** Seconds between two marks. */
  readonly everySeconds: number;
  /** Told of each mark. */
  readonly onMark?: (mark: Mark) => void;
}

/** What a server holds at a moment: sizes in bytes, and counts. */
export interface Mark {
  readonly second: number;
  readonly queries: number;
  /** Answers that are none of the server's: no connection, a status of 5xx. */
  readonly faults: number;
  readonly figures: Readonly<Record<string, number>>;
}

/**
 * Runs a server under load in a sandbox, which may be set up before; the server is left running.
 */
export async function soak(sandbox: Sandbox, { seconds, rate, ids, everySeconds, onMark }: Soak): Promise<readonly Mark[]> {
  const { pid } = await sandbox.json<{ pid: number; url: string }>(["server", "start", "--detach", "--port", "0"]).then((started) => {
    sandbox.url = started.url;
    return started;
  });
  const cwd = await sandbox.write({ "svc.yaml": "project: soak\nenvironments:\n  default: {}\n", "features.py": FEATURES });
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd });
  if (applied.exitCode !== 0) throw new Error(`apply: ${applied.stderr}`);
  let headers = await sandbox.authorized();
  const data = join(sandbox.home, ".svc/data");
  const began = performance.now();
  const until = began + seconds * 1000;
  const count = { queries: 0, faults: 0 };
  const marks: Mark[] = [];

  const mark = (): void => {
    const second = Math.round((performance.now() - began) / 1000);
    const taken = { second, ...count, figures: { ...figuresOf(pid), ...filesOf(data) } };
    marks.push(taken);
    onMark?.(taken);
  };
  const ask = async (number: number): Promise<void> => {
    const outputs = OUTPUTS[number % OUTPUTS.length];
    const body = JSON.stringify({ inputs: { "user.id": (number * 7919) % ids }, outputs });
    const response = await fetch(`${sandbox.url}/v1/query/online`, { method: "POST", headers, body }).catch(() => undefined);
    if (response?.status === 401) headers = await sandbox.authorized();
    if (!response || response.status >= 500) count.faults++;
    await response?.arrayBuffer();
    count.queries++;
  };
  const send = async (): Promise<void> => {
    for (let now = performance.now(); now < until; now = performance.now()) {
      const due = rate === 0 ? now : began + (sent / rate) * 1000;
      if (due > now) await Bun.sleep(Math.min(due, until) - now);
      else await ask(sent++);
    }
  };
  let sent = 0;
  const timer = setInterval(mark, everySeconds * 1000);
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
  clearInterval(timer);
  mark();
  return marks;
}

/** Drift of each figure in percent, from the first mark after a quarter of the time to the last. */
export function driftOf(marks: readonly Mark[]): Readonly<Record<string, number>> {
  const last = marks.at(-1);
  const first = marks.find(({ second }) => second >= (last?.second ?? 0) / 4) ?? last;
  if (!first || !last) return {};
  return Object.fromEntries(
    Object.entries(last.figures).map(([name, value]) => {
      const before = first.figures[name] ?? 0;
      return [name, before === 0 ? (value === 0 ? 0 : Number.POSITIVE_INFINITY) : ((value - before) / before) * 100];
    }),
  );
}

/**
 * Memory, descriptors, threads and children of a process, from /proc; nothing where there is none.
 */
function figuresOf(server: number): Record<string, number> {
  if (process.platform !== "linux") return {};
  const status = (pid: number, name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0);
  const sockets = (fd: string): boolean => linkOf(`/proc/${server}/fd/${fd}`).startsWith("socket:");
  const descriptors = readdirSync(`/proc/${server}/fd`);
  const workers = descendantsOf(server);
  return {
    "server rss": status(server, "VmRSS") * 1024,
    "server rss, own": status(server, "RssAnon") * 1024,
    "server rss, of files": (status(server, "RssFile") + status(server, "RssShmem")) * 1024,
    "workers rss": workers.reduce((sum, pid) => sum + status(pid, "VmRSS") * 1024, 0),
    descriptors: descriptors.length,
    sockets: descriptors.filter(sockets).length,
    threads: status(server, "Threads"),
    processes: workers.length,
  };
}

function descendantsOf(pid: number): number[] {
  const children = textOf(`/proc/${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** Sizes of the files of a data directory that grow. */
function filesOf(data: string): Record<string, number> {
  const names = readdirSync(data).filter((name) => /^(meta|online|offline|telemetry)\.db(-wal)?$|^server\.(log|err)/.test(name));
  return Object.fromEntries(names.sort().map((name) => [name, statSync(join(data, name), { throwIfNoEntry: false })?.size ?? 0]));
}

function shown(name: string, value: number): string {
  return /rss|\.db|server\./.test(name) ? `${(value / 1024 / 1024).toFixed(1)} MiB` : String(value);
}

if (import.meta.main) {
  const words = process.argv.slice(2);
  const numberOf = (flag: string, otherwise: number): number => {
    const at = words.indexOf(flag);
    const value = at < 0 ? otherwise : Number(words[at + 1]);
    if (!(value >= 0)) throw new Error(`${flag} wants a number`);
    return value;
  };
  await using sandbox = new Sandbox();
  const marks = await soak(sandbox, {
    seconds: numberOf("--minutes", 10) * 60,
    rate: numberOf("--rate", 100),
    ids: numberOf("--ids", 5_000),
    everySeconds: numberOf("--every", 60),
    onMark: ({ second, queries, faults, figures }) => {
      if (words.includes("--json")) return;
      const facts = Object.entries(figures).map(([name, value]) => `${name} ${shown(name, value)}`);
      console.log(`${String(second).padStart(5)} s  ${queries} queries, ${faults} faults  ${facts.join(", ")}`);
    },
  });
  const drift = driftOf(marks);
  if (words.includes("--json")) console.log(JSON.stringify({ marks, drift }, null, 2));
  else for (const [name, percent] of Object.entries(drift)) console.log(`drift of ${name.padEnd(20)} ${percent.toFixed(1)} %`);
}
