/**
 * The first five minutes with `svc`, on real data: builds the binary, starts the embedded server, loads three million flights, deploys the example
 * project and asks it questions. Everything it makes is below `dist/`.
 */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { loadFlights } from "./harness/flights.ts";

const ROOT = join(import.meta.dir, "..");
const DATA = join(ROOT, "dist", "flights.db");
const HOME = join(ROOT, "dist", "quickstart");
const SVC = join(ROOT, "dist", process.platform === "win32" ? "svc.exe" : "svc");
const EXAMPLE = join(ROOT, "test", "fixtures", "flights");

function fail(step: string, code: number): never {
  throw new Error(`${step} failed with exit code ${code}`);
}

function svc(...args: string[]): void {
  console.log(`\n$ svc ${args.map((arg) => (/[^\w./=:-]/.test(arg) ? JSON.stringify(arg) : arg)).join(" ")}`);
  const child = Bun.spawnSync([SVC, ...args], {
    cwd: EXAMPLE,
    env: { ...process.env, SVC_HOME: join(HOME, ".svc"), XDG_CONFIG_HOME: join(HOME, ".config"), FLIGHTS_SQLITE_PATH: DATA },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (!child.success) fail(`svc ${args[0]}`, child.exitCode);
}

console.log("Building dist/svc");
const build = Bun.spawnSync([process.execPath, "build.ts", "--single"], { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
if (!build.success) fail("the build", build.exitCode);

if (!existsSync(DATA)) console.log("Loading 3,000,000 flights into dist/flights.db");
console.log(`${(await loadFlights(DATA)).toLocaleString("en-US")} flights in dist/flights.db`);

mkdirSync(HOME, { recursive: true });
svc("server", "start", "--detach", "--port", "0");
try {
  svc("apply", "--force", "--await");
  svc("query", "--in", "route.id=LAX-JFK", "--out", "route");
  svc("query", "--in", "route.id=LAX-JFK", "--out", "route.flights", "--out", "route.usual_delay", "--out", "route.origin.name");
  svc("query", "--in", "route.id=LAX-JFK", "--out", "route.mean_delay", "--now", "2001-03-01T00:00:00Z");
  svc("query", "--in", "flight.id=2000000", "--out", "flight", "--out", "flight.route.destination.city");
  svc("query", "--in", "airport.id=ATL");
  svc("features", "search", "delay");
} finally {
  svc("server", "stop");
}
