/**
 * A process that is killed at any moment: the messages of a topic count once, whatever it had done
 * of a step. The oracle is a loop over the messages.
 */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { runs, seed } from "../../harness/seed.ts";
import { COUNTED, COUNTERS, tilesOf, topicsOf } from "./counting.ts";

const GROUPS = 7;

/** What a series keeps of each group: the count and the sum of its messages. */
async function kept(folder: string, seriesId: number): Promise<Map<string, string>> {
  const tiles = tilesOf(folder);
  try {
    const reads = Array.from({ length: GROUPS }, (_, group) => ({ seriesId, group: `g${group}`, from: 0, until: 1 }));
    const found = await tiles.read(COUNTED.scope, reads);
    return new Map(found.flatMap(([tile], group) => (tile ? [[`g${group}`, Buffer.from(tile.state).toString()]] : [])));
  } finally {
    await tiles.close();
  }
}

test("every message counts once, whenever the process that reads them is killed, and two that read at once change nothing", async () => {
  using folder = new TempFolder();
  const { embedded, store } = topicsOf(folder.path);
  await embedded.ensure(COUNTED.environmentId, COUNTED.topic, 1);
  const wanted = new Map<string, [count: number, sum: number]>();
  let pushed = 0n;
  const push = async (messages: number): Promise<void> => {
    const numbers = Array.from({ length: messages }, () => Number(pushed++));
    for (const number of numbers) {
      const [count, sum] = wanted.get(`g${number % GROUPS}`) ?? [0, 0];
      wanted.set(`g${number % GROUPS}`, [count + 1, sum + number]);
    }
    await embedded.of(COUNTED.environmentId).push(
      COUNTED.topic,
      numbers.map((number) => ({
        partition: 0,
        value: Buffer.from(JSON.stringify({ id: `r${number}`, number, group: `g${number % GROUPS}` })),
      })),
    );
  };
  const begin = () =>
    Bun.spawn([process.execPath, join(import.meta.dir, "counting.ts"), folder.path], { stdout: "pipe", stderr: "inherit" });
  const ready = async (child: ReturnType<typeof begin>): Promise<void> => {
    for await (const _ of child.stdout) return;
  };
  for (let round = 0; round < runs(20, 200); round++) {
    await push(3_000);
    const children = [begin(), ...(round % 5 === 4 ? [begin()] : [])];
    await Promise.all(children.map(ready));
    // The moment decides nothing but where it is cut off.
    await Bun.sleep((seed + round * 7) % 60);
    for (const child of children) {
      child.kill("SIGKILL");
      await child.exited;
    }
  }
  const last = begin();
  const tiles = tilesOf(folder.path);
  for (const { body, streamId } of COUNTERS) {
    const position = async () => (await tiles.positions(COUNTED.scope, streamId))[0]?.offset;
    await eventually(async () => (await position()) === pushed, `all messages are read by ${body}`);
  }
  await tiles.close();
  last.kill("SIGKILL");
  await last.exited;
  const states = new Map([...wanted].map(([group, state]) => [group, state.join(" ")]));
  for (const { seriesId } of COUNTERS) expect(await kept(folder.path, seriesId)).toEqual(states);
  embedded.close();
  await store.close();
}, 300_000);
