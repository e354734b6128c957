/**
 * The main job on real data: the example project deployed by the compiled binary, its answers
 * compared with figures computed from the same files by other code.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { eventually } from "../harness/eventually.ts";
import { type AirportRow, type FlightColumns, loadFlights, readAirports, readFlights } from "../harness/flights.ts";
import { Sandbox } from "../harness/sandbox.ts";

const DATA = join(import.meta.dir, "../../dist/flights.db");
const FLIGHTS_FILE = join(import.meta.dir, "../../node_modules/vega-datasets/data/flights-3m.parquet");
const HISTORY_SQL = join(import.meta.dir, "../fixtures/airport-history.sql");

interface Answer {
  readonly data: readonly { readonly field: string; readonly value: unknown; readonly meta?: { readonly cache_hit?: boolean } }[];
  readonly errors?: readonly { readonly message: string }[];
}

let sandbox: Sandbox;
let project: string;
let flights: FlightColumns;
let airports: Map<string, AirportRow>;

beforeAll(async () => {
  expect(await loadFlights(DATA)).toBe(3_000_000);
  flights = await readFlights();
  airports = new Map((await readAirports()).map((row) => [row.iata, row]));
  sandbox = new Sandbox({ FLIGHTS_SQLITE_PATH: DATA });
  project = await sandbox.project("flights");
  await sandbox.startServer();
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  expect(applied.stderr + applied.stdout).toContain("route.usual_delay");
  expect(applied.exitCode).toBe(0);
}, 300_000);

afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
});

async function ask(...args: string[]): Promise<Record<string, unknown>> {
  const answer = await sandbox.json<Answer>(["query", ...args], { cwd: project });
  expect(answer.errors ?? []).toEqual([]);
  return Object.fromEntries(answer.data.map((item) => [item.field, item.value]));
}

/** Figures over the flights that `keep` selects, from the Parquet columns. */
function figures(keep: (i: number) => boolean): { count: number; mean: number | null; lateShare: number | null } {
  let count = 0;
  let sum = 0;
  let late = 0;
  for (let i = 0; i < flights.delay.length; i++) {
    if (!keep(i)) continue;
    count++;
    const delay = Number(flights.delay[i]);
    sum += delay;
    if (delay > 15) late++;
  }
  return { count, mean: count > 0 ? sum / count : null, lateShare: count > 0 ? late / count : null };
}

/**
 * Angle between two unit vectors by its tangent, which stays exact where the haversine formula and
 * the arc cosine lose digits.
 */
function milesBetween(a: AirportRow, b: AirportRow): number {
  const vector = ({ latitude, longitude }: AirportRow): [number, number, number] => {
    const [lat, lon] = [(latitude * Math.PI) / 180, (longitude * Math.PI) / 180];
    return [Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat)];
  };
  const [p, q] = [vector(a), vector(b)];
  const cross = Math.hypot(p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]);
  return 3958.7613 * Math.atan2(cross, p[0] * q[0] + p[1] * q[1] + p[2] * q[2]);
}

function airport(iata: string): AirportRow {
  const found = airports.get(iata);
  if (!found) throw new Error(`no airport ${iata}`);
  return found;
}

for (const [origin, destination] of [
  ["LAX", "JFK"],
  ["ATL", "SAV"],
  ["ANC", "LAX"],
  ["SEA", "BWI"],
] as const)
  test(`route ${origin}-${destination}: aggregates over all flights and the distance between its airports`, async () => {
    const wanted = figures((i) => flights.origin[i] === origin && flights.destination[i] === destination);
    const answer = await ask(
      "--in",
      `route.id=${origin}-${destination}`,
      "--out",
      "route",
      "--out",
      "route.origin.name",
      "--out",
      "route.destination.city",
    );
    expect(answer["route.flights"]).toBe(wanted.count);
    expect(answer["route.usual_delay"]).toBeCloseTo(wanted.mean as number, 9);
    expect(answer["route.late_share"]).toBeCloseTo(wanted.lateShare as number, 9);
    expect(answer["route.great_circle_miles"]).toBeCloseTo(milesBetween(airport(origin), airport(destination)), 6);
    expect(answer["route.origin.name"]).toBe(airport(origin).name);
    expect(answer["route.destination.city"]).toBe(airport(destination).city);
  });

test("an airport's departures", async () => {
  const wanted = figures((i) => flights.origin[i] === "ORD");
  const answer = await ask("--in", "airport.id=ORD");
  expect(answer["airport.departures"]).toBe(wanted.count);
  expect(answer["airport.mean_delay"]).toBeCloseTo(wanted.mean as number, 9);
  expect(answer["airport.latitude"]).toBe(airport("ORD").latitude);
});

test("twenty flights across the file: every feature of the row and what Python makes of it", async () => {
  for (let i = 17; i < 3_000_000; i += 150_000) {
    const [origin, destination] = [flights.origin[i] as string, flights.destination[i] as string];
    const delay = Number(flights.delay[i]);
    const answer = await ask("--in", `flight.id=${i + 1}`, "--out", "flight", "--out", "flight.route.origin.city");
    expect(answer["flight.at"]).toBe((flights.date[i] as Date).toISOString().replace("Z", "000Z"));
    expect(answer["flight.delay"]).toBe(delay);
    expect(answer["flight.is_late"]).toBe(delay > 15);
    expect(answer["flight.distance"]).toBe(Number(flights.distance[i]));
    expect(answer["flight.route_id"]).toBe(`${origin}-${destination}`);
    expect(answer["flight.delay_category"]).toBe(delay < 0 ? "early" : delay <= 15 ? "on time" : delay <= 60 ? "late" : "very late");
    const usual = figures((j) => flights.origin[j] === origin && flights.destination[j] === destination).mean as number;
    expect(answer["flight.delay_above_route"]).toBeCloseTo(delay - usual, 9);
    expect(answer["flight.detour"]).toBeCloseTo(Number(flights.distance[i]) / milesBetween(airport(origin), airport(destination)), 9);
    expect(answer["flight.route.origin.city"]).toBe(airport(origin).city);
  }
});

test("cached aggregates are served from the store the second time", async () => {
  const args = ["query", "--in", "route.id=DFW-SFO", "--out", "route.flights", "--out", "route.usual_delay", "--include-meta"];
  const hits = async () => (await sandbox.json<Answer>(args, { cwd: project })).data.map((item) => item.meta?.cache_hit ?? false);
  expect(await hits()).toEqual([false, false]);
  expect(await hits()).toEqual([true, true]);
  const busted = await sandbox.json<Answer>([...args, "--staleness", "route.flights=0s"], { cwd: project });
  expect(busted.data.map((item) => item.meta?.cache_hit ?? false)).toEqual([false, true]);
});

/** Delays of the flights that `keep` selects and that left within (now - days, now]. */
function delaysWithin(now: string, days: number, keep: (i: number) => boolean): number[] {
  const end = Date.parse(now);
  const start = end - days * 86_400_000;
  const delays: number[] = [];
  for (let i = 0; i < flights.delay.length; i++) {
    const at = (flights.date[i] as Date).getTime();
    if (at > start && at <= end && keep(i)) delays.push(Number(flights.delay[i]));
  }
  return delays;
}

for (const now of ["2001-01-01T06:00:00Z", "2001-03-01T00:00:00Z", "2001-05-17T13:45:00.5Z"])
  test(`windows over the flights of a route and of an airport as of ${now}`, async () => {
    const onRoute = (i: number) => flights.origin[i] === "LAX" && flights.destination[i] === "JFK";
    const answer = await ask("--in", "route.id=LAX-JFK", "--out", "route.mean_delay", "--out", "route.trips.delay", "--now", now);
    for (const days of [1, 7, 30]) {
      const delays = delaysWithin(now, days, onRoute);
      const mean = delays.length > 0 ? delays.reduce((a, b) => a + b, 0) / delays.length : null;
      const found = answer[`route.mean_delay__${days * 86_400}__`];
      if (mean === null) expect(found).toBeNull();
      else expect(found).toBeCloseTo(mean, 9);
    }
    const known = delaysWithin(now, 100_000, onRoute).sort((a, b) => a - b);
    expect((answer["route.trips.delay"] as number[]).toSorted((a, b) => a - b)).toEqual(known);
    const airport = await ask("--in", "airport.id=SAV", "--out", "airport.late[7d]", "--out", "airport.late[1d]", "--now", now);
    for (const days of [1, 7])
      expect(airport[`airport.late__${days * 86_400}__`]).toBe(
        delaysWithin(now, days, (i) => flights.origin[i] === "SAV").filter((delay) => delay > 15).length,
      );
  });

test("a bulk query over 1,000 routes", async () => {
  const routes = new Map<string, { count: number; sum: number; late: number }>();
  for (let i = 0; i < flights.delay.length; i++) {
    const id = `${flights.origin[i]}-${flights.destination[i]}`;
    const route = routes.get(id) ?? { count: 0, sum: 0, late: 0 };
    const delay = Number(flights.delay[i]);
    routes.set(id, { count: route.count + 1, sum: route.sum + delay, late: route.late + (delay > 15 ? 1 : 0) });
  }
  const ids = [...routes.keys()].sort().slice(0, 1_000);
  const outputs = [
    "route.flights",
    "route.usual_delay",
    "route.late_share",
    "route.flights_a_day",
    "route.great_circle_miles",
    "route.origin.name",
  ];
  const answer = await sandbox.json<{ data: Record<string, unknown[]>; errors?: unknown[]; meta: { rows: number } }>(
    ["query", "--bulk", ...ids.flatMap((id) => ["--in", `route.id=${id}`]), "--out", outputs.join(",")],
    { cwd: project },
  );
  expect(answer.errors ?? []).toEqual([]);
  for (const [row, id] of ids.entries()) {
    const { count, sum, late } = routes.get(id) as { count: number; sum: number; late: number };
    const [origin, destination] = id.split("-").map((iata) => airport(iata)) as [AirportRow, AirportRow];
    const of = (name: string) => answer.data[name]?.[row];
    expect(of("route.flights")).toBe(count);
    expect(of("route.usual_delay")).toBeCloseTo(sum / count, 9);
    expect(of("route.late_share")).toBeCloseTo(late / count, 9);
    expect(of("route.flights_a_day")).toBeCloseTo(count / 181, 9);
    expect(of("route.great_circle_miles")).toBeCloseTo(milesBetween(origin, destination), 6);
    expect(of("route.origin.name")).toBe(origin.name);
  }
}, 300_000);

test("the table on a terminal or in a pipe has the columns Name, Hit?, Value", async () => {
  const { stdout, exitCode } = await sandbox.svc(["query", "--in", "airport.id=ATL", "--out", "airport.name"], { cwd: project });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^Name +Hit\? +Value$/m);
  expect(stdout).toMatch(/^airport\.name .*William B Hartsfield-Atlanta Intl$/m);
});

test("flights that land are messages of a topic, and count in a kept window of their airport", async () => {
  const landed = async () => (await ask("--in", "airport.id=SAV", "--out", "airport.landed[1d]"))["airport.landed__86400__"];
  expect(await landed()).toBe(0);
  for (const flight of [5, 6, 7]) {
    const value = JSON.stringify({ flight, airport: "SAV", at: "now()", delay: flight });
    expect((await sandbox.svc(["topic", "push", "--topic", "arrivals", "--value", value])).exitCode).toBe(0);
  }
  expect((await sandbox.svc(["streams", "get", "on_landing", "--wait"])).exitCode).toBe(0);
  expect(await landed()).toBe(3);
  expect(await ask("--in", "arrival.id=6", "--out", "arrival.delay", "--out", "arrival.airport_id")).toEqual({
    "arrival.delay": 6,
    "arrival.airport_id": "SAV",
  });
});

test("a named query gives its outputs", async () => {
  const answer = await ask("--in", "flight.id=1", "--query-name", "flight_card", "--query-name-version", "1.0.0");
  expect(Object.keys(answer).sort()).toEqual([
    "flight.delay_above_route",
    "flight.delay_category",
    "flight.route.destination.city",
    "flight.route.origin.city",
  ]);
  expect(answer["flight.delay_category"]).toBe("late");
});

test("a training set of 100,000 flights: what was known of their airports when they left, never later", async () => {
  const [history, training] = [join(sandbox.work, "history.parquet"), join(sandbox.work, "training.parquet")];
  const run = (...args: string[]) => sandbox.json<Record<string, unknown>>(args, { cwd: project });
  await run("dataset", "upload", FLIGHTS_FILE, "--name", "flights");
  await run("sql", `@${HISTORY_SQL}`, "--limit", "100000", "--out", history);
  await run("upload", history, "--known-at", "__ts__");
  const triggered = (await run("trigger", "--resolver", "airport_departures")).id as string;
  // The figures of all flights are in the history too, from today.
  await eventually(async () => {
    const { rows, state } = await run("scheduled-resolver", "runs", "get", triggered);
    return state === "succeeded" && Number(rows) >= new Set(flights.origin).size;
  }, "the run computed the figures of every airport");
  const spine = `select origin as "airport.id", date as ts, delay as "flight.delay" from datasets.flights
    order by hash(date, origin, destination, delay) limit 100000`;
  const outputs = ["--out", "airport.departures", "--out", "airport.mean_delay", "--out", "flight.is_late"];
  await run("offline-query", "--input-sql", spine, ...outputs, "--as-known", "--output-file", training);

  const known = knownByDay();
  const rows = await parquetReadObjects({ file: (await Bun.file(training).arrayBuffer()) as ArrayBuffer, compressors });
  expect(rows).toHaveLength(100_000);
  const wrong = rows.filter((row) => {
    const { count, sum } = known(row["airport.id"] as string, row.__ts__ as Date);
    const isMean = count === 0 ? row["airport.mean_delay"] === null : Math.abs((row["airport.mean_delay"] as number) - sum / count) < 1e-9;
    const isCount = row["airport.departures"] === (count === 0 ? null : BigInt(count));
    return !isMean || !isCount || row["flight.is_late"] !== (row["flight.delay"] as bigint) > 15n;
  });
  expect(wrong.slice(0, 3)).toEqual([]);
  expect(rows.some((row) => row["airport.departures"] === null)).toBe(true);
});

/** The flights of an airport on the days before that of an instant, by a loop over all of them. */
function knownByDay(): (airport: string, at: Date) => { readonly count: number; readonly sum: number } {
  const FIRST = Date.parse("2001-01-01T00:00:00Z");
  const dayOf = (at: Date) => Math.floor((at.getTime() - FIRST) / 86_400_000);
  const sums = new Map<string, { count: number; sum: number }[]>();
  for (let i = 0; i < flights.delay.length; i++) {
    const origin = flights.origin[i] as string;
    const days = sums.get(origin) ?? Array.from({ length: 183 }, () => ({ count: 0, sum: 0 }));
    sums.set(origin, days);
    const day = days[dayOf(flights.date[i] as Date) + 1] as { count: number; sum: number };
    day.count++;
    day.sum += Number(flights.delay[i]);
  }
  for (const days of sums.values())
    for (const [i, day] of days.entries()) {
      day.count += days[i - 1]?.count ?? 0;
      day.sum += days[i - 1]?.sum ?? 0;
    }
  return (origin, at) => sums.get(origin)?.[dayOf(at)] as { count: number; sum: number };
}
