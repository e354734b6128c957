/**
 * What a call of a Python resolver costs: one row at a time and pipelined, against a bare echo of
 * as many bytes through the same kind of socket in the same run. Run with `bun
 * test/bench/worker.ts`. On Linux this process is bound to the first core and Python to the last:
 * whether two processes that take turns share a core changes the cost of an echo fivefold, and the
 * ratio with it.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anyPython, module, startPool } from "../server/python/project.ts";

const ROUNDS = 7;
const CALLS = 3_000;

/** Binds a Python process to the last core. */
const PIN = `
import os
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {os.cpu_count() - 1})
`;

const ECHO = `${PIN}
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
while True:
    data = connection.recv(65536)
    if not data:
        break
    connection.sendall(data)
`;

const PROJECT = module(
  `
@features
class User:
    id: int
    email: str
    domain: str
    a: float
    b: float
    total: float
    c: float | None
    d: float | None
`,
  `${PIN}
@online
def first(email: User.email) -> User.domain:
    return email.split("@")[1]

@online
def total(a: User.a, b: User.b) -> User.total:
    return a + b

@online
def with_gaps(c: User.c, d: User.d) -> User.total:
    return (c or 0.0) + (d or 0.0)
`,
);

/** Sends messages to a Python process that sends them back. */
async function startEcho(python: string): Promise<{ send(bytes: Uint8Array): Promise<void>; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "svc-echo-"));
  let pending = 0;
  let arrived: () => void = () => undefined;
  const connected = Promise.withResolvers<{ write(bytes: Uint8Array): number }>();
  const listener = Bun.listen({
    unix: join(folder, "s"),
    socket: {
      open: (socket) => connected.resolve(socket),
      data: (_, chunk) => {
        pending -= chunk.length;
        if (pending === 0) arrived();
      },
    },
  });
  const child = Bun.spawn([python, "-I", "-c", ECHO, join(folder, "s")], { stdout: "ignore", stderr: "inherit" });
  const socket = await connected.promise;
  return {
    send: (bytes) =>
      new Promise((resolve) => {
        arrived = resolve;
        pending = bytes.length;
        socket.write(bytes);
      }),
    stop: async () => {
      child.kill();
      listener.stop(true);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Microseconds of each call, sorted. */
async function time(call: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < CALLS; i++) {
    const started = performance.now();
    await call();
    taken.push((performance.now() - started) * 1_000);
  }
  return taken.sort((a, b) => a - b);
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] as number;
const median = (values: readonly number[]): number =>
  at(
    [...values].sort((a, b) => a - b),
    0.5,
  );

const taskset = Bun.which("taskset");
if (taskset && process.env.SVC_BENCH_BOUND === undefined) {
  const bound = Bun.spawn([taskset, "-c", "0", process.execPath, import.meta.path], {
    env: { ...process.env, SVC_BENCH_BOUND: "1" },
    stdio: ["inherit", "inherit", "inherit"],
  });
  process.exit(await bound.exited);
}

const python = (await anyPython()) as string;
const echo = await startEcho(python);
await using live = await startPool(PROJECT, { python });
const bytes = new Uint8Array(300);
const call = () => live.row("mod.first", { email: "a@example.com" });
for (let i = 0; i < 2_000; i++) await Promise.all([echo.send(bytes), call()]);

const rounds: { echo: number; call: number; echo99: number; call99: number }[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const bare = await time(() => echo.send(bytes));
  const full = await time(call);
  rounds.push({ echo: at(bare, 0.5), call: at(full, 0.5), echo99: at(bare, 0.99), call99: at(full, 0.99) });
}
const row = (name: string, of: (round: (typeof rounds)[number]) => number) =>
  `${name.padEnd(34)}${median(rounds.map(of)).toFixed(1).padStart(10)}`;
console.log(row("echo p50, us", (round) => round.echo));
console.log(row("single-row call p50, us", (round) => round.call));
console.log(row("  ratio to echo", (round) => round.call / round.echo));
console.log(row("echo p99, us", (round) => round.echo99));
console.log(row("single-row call p99, us", (round) => round.call99));
console.log(row("  ratio to echo", (round) => round.call99 / round.echo99));

for (const lanes of [8, 64]) {
  const started = performance.now();
  let sent = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (sent < 30_000) {
        sent++;
        await call();
      }
    }),
  );
  console.log(
    `${`calls a second, ${lanes} at once`.padEnd(34)}${((sent / (performance.now() - started)) * 1_000).toFixed(0).padStart(10)}`,
  );
}
for (const size of [100, 1_000, 10_000]) {
  const column = Array.from({ length: size }, (_, i) => i + 0.5);
  const gaps = [null, ...column.slice(1)];
  const blocks: number[] = [];
  const json: number[] = [];
  for (let i = 0; i < 30; i++) {
    const started = performance.now();
    await live.rows("mod.total", { a: column, b: column });
    const between = performance.now();
    await live.rows("mod.with_gaps", { c: gaps, d: gaps });
    blocks.push(between - started);
    json.push(performance.now() - between);
  }
  console.log(`${`batch of ${size} rows, ms`.padEnd(34)}${median(blocks).toFixed(2).padStart(10)}`);
  console.log(`${"  ratio to columns with a null".padEnd(34)}${(median(blocks) / median(json)).toFixed(2).padStart(10)}`);
}
await echo.stop();
