/**
 * The real data of the example project: 3,000,000 flights and the airports from the `vega-datasets`
 * package, loaded into a SQLite file once.
 */

import { Database } from "bun:sqlite";
import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { parquetRead } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { formatMicros } from "../../src/domain/timestamp.ts";

const DATA = join(import.meta.dir, "../../node_modules/vega-datasets/data");

/** Columns of the flights file, in order: one array per column, 3,000,000 long. */
export interface FlightColumns {
  readonly date: readonly Date[];
  readonly delay: readonly bigint[];
  readonly distance: readonly bigint[];
  readonly origin: readonly string[];
  readonly destination: readonly string[];
}

/** Reads the columns of the flights file. */
export async function readFlights(): Promise<FlightColumns> {
  const bytes = await Bun.file(join(DATA, "flights-3m.parquet")).arrayBuffer();
  const columns: Record<string, unknown[]> = { date: [], delay: [], distance: [], origin: [], destination: [] };
  await parquetRead({
    file: { byteLength: bytes.byteLength, slice: (from: number, to?: number) => bytes.slice(from, to) },
    compressors,
    onChunk: ({ columnName, columnData }) => {
      const column = columns[columnName];
      if (!column) throw new Error(`unexpected column ${columnName}`);
      for (let i = 0; i < columnData.length; i++) column.push(columnData[i]);
    },
  });
  return columns as unknown as FlightColumns;
}

/** One line of the airports file. */
export interface AirportRow {
  readonly iata: string;
  readonly name: string;
  readonly city: string | null;
  readonly state: string | null;
  readonly country: string;
  readonly latitude: number;
  readonly longitude: number;
}

/** Reads the airports file; the text `NA` there means "none". */
export async function readAirports(): Promise<AirportRow[]> {
  const [, ...lines] = (await Bun.file(join(DATA, "airports.csv")).text()).trim().split(/\r?\n/);
  return lines.map((line) => {
    const fields = [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map((match) =>
      (match[1] ?? "").replace(/^"|"$/g, "").replaceAll('""', '"'),
    );
    const [iata, name, city, state, country, latitude, longitude] = fields as [string, string, string, string, string, string, string];
    const orNull = (text: string) => (text === "NA" || text === "" ? null : text);
    return { iata, name, city: orNull(city), state: orNull(state), country, latitude: Number(latitude), longitude: Number(longitude) };
  });
}

/**
 * Makes the SQLite file unless it exists; an interrupted load leaves no file. Returns the number of
 * flights.
 */
export async function loadFlights(path: string): Promise<number> {
  if (await Bun.file(path).exists()) {
    const existing = new Database(path, { readonly: true });
    const { count } = existing.query("select count(*) as count from flight").get() as { count: number };
    existing.close();
    return count;
  }
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.loading`;
  rmSync(temporary, { force: true });
  const [flights, airports] = [await readFlights(), await readAirports()];
  const db = new Database(temporary);
  db.run("pragma journal_mode = off");
  db.run("pragma synchronous = off");
  db.run(`create table airport (iata text primary key, name text not null, city text, state text, country text not null,
    latitude real not null, longitude real not null) without rowid`);
  db.run(`create table flight (id integer primary key, at text not null, delay int not null, distance int not null,
    origin text not null, destination text not null)`);
  const airport = db.prepare("insert into airport values (?, ?, ?, ?, ?, ?, ?)");
  const flight = db.prepare("insert into flight values (?, ?, ?, ?, ?, ?)");
  db.transaction(() => {
    for (const row of airports) airport.run(row.iata, row.name, row.city, row.state, row.country, row.latitude, row.longitude);
    for (let i = 0; i < flights.date.length; i++) {
      const at = formatMicros(BigInt((flights.date[i] as Date).getTime()) * 1000n);
      flight.run(
        i + 1,
        at,
        flights.delay[i] as bigint,
        flights.distance[i] as bigint,
        flights.origin[i] as string,
        flights.destination[i] as string,
      );
    }
  })();
  db.run("create index flight_route on flight (origin, destination, delay)");
  db.close();
  renameSync(temporary, path);
  return flights.date.length;
}
