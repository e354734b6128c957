import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { logFiles, openServerLog, readServerLog, readServerLogSince } from "../../src/config/server-log.ts";
import { tempFolder } from "../client/test-context.ts";

const clock = { now: () => Date.UTC(2030, 0, 1) };
const BOUNDS = { fileBytes: 1_000, files: 3 };
const line = (n: number): string => `{"message":"line ${String(n).padStart(5, "0")}"}`;
const numberOf = (text: string): number => Number(/line (\d+)/.exec(text)?.[1]);

describe("a log that grows", () => {
  test("is begun anew at its bound while it is written, and two older files are kept", async () => {
    const folder = tempFolder();
    const write = openServerLog(folder, clock, BOUNDS);
    for (let n = 0; n < 500; n++) write(line(n));
    const files = logFiles(folder);
    expect(files.map((path) => statSync(path).size > 0 && statSync(path).size <= BOUNDS.fileBytes)).toEqual([true, true, true]);
    expect(existsSync(`${files[0]}.3`)).toBe(false);
    const kept = files
      .toReversed()
      .flatMap((path) => readFileSync(path, "utf8").trimEnd().split("\n"))
      .map(numberOf);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, at) => 500 - kept.length + at));
    expect((await readServerLog(folder, 60)).lines.map(numberOf)).toEqual(kept.slice(-60));
    expect((await readServerLog(folder, 0)).lines).toEqual([]);
  });

  test("is followed over the files that are begun: every line once, in order", async () => {
    const folder = tempFolder();
    const write = openServerLog(folder, clock, BOUNDS);
    for (let n = 0; n < 10; n++) write(line(n));
    let { lines, position } = await readServerLog(folder, 3);
    const seen = lines.map(numberOf);
    for (let n = 10; n < 300; n++) {
      write(line(n));
      if (n % 17 !== 0) continue;
      ({ lines, position } = await readServerLogSince(folder, position));
      seen.push(...lines.map(numberOf));
    }
    ({ lines } = await readServerLogSince(folder, position));
    seen.push(...lines.map(numberOf));
    expect(seen).toEqual(Array.from({ length: 293 }, (_, at) => at + 7));
  });

  test("a follower that comes first reads from the first line", async () => {
    const folder = tempFolder();
    const { position } = await readServerLog(folder, 5);
    expect(position).toBeUndefined();
    openServerLog(folder, clock, BOUNDS)(line(1));
    expect((await readServerLogSince(folder, position)).lines).toEqual([line(1)]);
  });

  test("a line that a crash cut off does not run into the next", async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, "server.log"), `${line(1)}\n{"mess`);
    openServerLog(folder, clock, BOUNDS)(line(2));
    expect((await readServerLog(folder, 9)).lines).toEqual([line(1), '{"mess', line(2)]);
  });

  test("a log that cannot be opened is said with its folder", () => {
    const folder = join(tempFolder(), "file");
    writeFileSync(folder, "");
    expect(() => openServerLog(folder, clock)).toThrow(`the data directory ${folder} cannot be used`);
  });
});
