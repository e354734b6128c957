/**
 * The first five minutes with `svc`, on real data: builds the binary, starts the embedded server,
 * loads three million flights, deploys the example project, asks it questions, and writes a
 * training set of 100,000 rows as of their own times. Everything it makes is below `dist/`.
 */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { loadFlights } from "./harness/flights.ts";

const ROOT = join(import.meta.dir, "..");
const DATA = join(ROOT, "dist", "flights.db");
const HOME = join(ROOT, "dist", "quickstart");
const SVC = join(ROOT, "dist", process.platform === "win32" ? "svc.exe" : "svc");
const EXAMPLE = join(ROOT, "test", "fixtures", "flights");
const UP = "../../..";
const FLIGHTS = `${UP}/node_modules/vega-datasets/data/flights-3m.parquet`;
/** 100,000 flights, the same ones every time: the airports that they left from, and when. */
const SPINE =
  'select origin as "airport.id", date as ts, delay as "flight.delay" from datasets.flights ' +
  "order by hash(date, origin, destination, delay) limit 100000";

const ENV = { ...process.env, SVC_HOME: join(HOME, ".svc"), XDG_CONFIG_HOME: join(HOME, ".config"), FLIGHTS_SQLITE_PATH: DATA };

function svc(...args: string[]): void {
  console.log(`\n$ svc ${args.map((arg) => (/[^\w./=:-]/.test(arg) ? JSON.stringify(arg) : arg)).join(" ")}`);
  const child = Bun.spawnSync([SVC, ...args], { cwd: EXAMPLE, env: ENV, stdio: ["ignore", "inherit", "inherit"] });
  if (!child.success) throw new Error(`svc ${args[0]} failed with exit code ${child.exitCode}`);
}

async function quickstart(): Promise<void> {
  console.log("Building dist/svc");
  const build = Bun.spawnSync([process.execPath, "build.ts", "--single"], { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
  if (!build.success) throw new Error(`the build failed with exit code ${build.exitCode}`);

  if (!existsSync(DATA)) console.log("Loading 3,000,000 flights into dist/flights.db");
  console.log(`${(await loadFlights(DATA)).toLocaleString("en-US")} flights in dist/flights.db`);

  mkdirSync(HOME, { recursive: true });
  // A run that was killed leaves its server behind.
  Bun.spawnSync([SVC, "server", "stop"], { env: ENV, stdio: ["ignore", "ignore", "ignore"] });
  // Ctrl-C reaches the command that runs, which fails; this process stays to stop the server.
  process.on("SIGINT", () => {});
  svc("server", "start", "--detach", "--port", "0");
  try {
    svc("apply", "--force", "--await");
    svc("query", "--in", "route.id=LAX-JFK", "--out", "route");
    svc("query", "--in", "route.id=LAX-JFK", "--out", "route.flights", "--out", "route.usual_delay", "--out", "route.origin.name");
    svc("query", "--in", "route.id=LAX-JFK", "--out", "route.mean_delay", "--now", "2001-03-01T00:00:00Z");
    svc("query", "--in", "flight.id=2000000", "--out", "flight", "--out", "flight.route.destination.city");
    svc("query", "--in", "airport.id=ATL");
    svc("topic", "push", "--topic", "arrivals", "--value", '{"flight": randint(), "airport": "ATL", "at": "now()", "delay": randint(60)}');
    svc("streams", "get", "on_landing", "--wait");
    svc("query", "--in", "airport.id=ATL", "--out", "airport.landed");
    svc("aggregate", "list");
    svc("features", "search", "delay");
    svc("dataset", "upload", FLIGHTS, "--name", "flights");
    svc("sql", "@../airport-history.sql", "--limit", "100000", "--out", `${UP}/dist/history.parquet`);
    svc("upload", `${UP}/dist/history.parquet`, "--known-at", "__ts__");
    svc("trigger", "--resolver", "airport_departures");
    svc("scheduled-resolver", "list");
    const outputs = ["--out", "airport.departures", "--out", "airport.mean_delay", "--out", "flight.is_late"];
    svc("offline-query", "--input-sql", SPINE, ...outputs, "--dataset", "training", "--output-file", `${UP}/dist/train.parquet`);
    svc("sql", "select * from datasets.training where \"airport.id\" = 'ATL' and __ts__ >= '2001-03-01' order by __ts__ limit 5");
    svc("query", "--in", "airport.id=ATL", "--out", "airport.departures", "--out", "airport.mean_delay");
  } finally {
    svc("server", "stop");
  }
  console.log('\nNext: "First session" in README.md, with the folder dist on your PATH.');
}

await quickstart().catch((error: Error) => {
  console.error(`\nThe quickstart ended early: ${error.message}`);
  process.exitCode = 1;
});
