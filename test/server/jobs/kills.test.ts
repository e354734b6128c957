import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { patience, runs, seed } from "../../harness/seed.ts";

const KILLS = runs(80, 100_000);
const NODES = ["a", "b"];

test(
  "two nodes are killed again and again under mixed jobs: none is lost, none ends twice, no attempt is counted that did not begin, and what is scheduled is kept once",
  async () => {
    using folder = new TempFolder();
    const path = join(folder.path, "meta.db");
    const effects = join(folder.path, "effects");
    let state = seed | 0;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
      return Math.floor(((state >>> 0) / 2 ** 32) * below);
    };
    await createSqliteMetadataStore({ path, programVersion: "1" }).close();
    await using children = new AsyncDisposableStack();
    const spawn = (node: string, ...rest: string[]) => {
      const child = Bun.spawn(
        [process.execPath, join(import.meta.dir, "jobs-process.ts"), path, effects, node, String(random(2 ** 31)), ...rest],
        {
          stdout: "pipe",
          stderr: "inherit",
        },
      );
      children.defer(() => child.kill("SIGKILL"));
      return child;
    };

    const acknowledged: string[] = [];
    const node = async (name: string): Promise<void> => {
      for (let kill = 0; kill < KILLS / NODES.length; kill++) {
        const child = spawn(name);
        const enough = 1 + random(12);
        let said = "";
        let isKilled = false;
        for await (const chunk of child.stdout) {
          said += new TextDecoder().decode(chunk);
          if (isKilled || said.split("\n").length <= enough) continue;
          isKilled = true;
          setTimeout(() => child.kill("SIGKILL"), random(4));
        }
        await child.exited;
        expect(child.signalCode).toBe("SIGKILL");
        acknowledged.push(...said.split("\n").slice(0, -1));
      }
    };
    await Promise.all(NODES.map(node));
    expect(await spawn("last", "drain").exited).toBe(0);

    const did = new Map<string, number>();
    for (const line of readFileSync(effects, "utf8").trim().split("\n")) did.set(line, (did.get(line) ?? 0) + 1);
    const store = createSqliteMetadataStore({ path, programVersion: "1" });
    const wrong: string[] = [];
    let unbegun = 0;
    for (const id of acknowledged) {
      const job = await store.jobs.job(id);
      const attempts = await store.jobs.attempts(id);
      const ended = attempts.filter(({ outcome }) => outcome === "succeeded");
      const isDone = job?.state === "succeeded" && ended.length === 1 && did.get(`end ${id} ${ended[0]?.number}`) === 1;
      const isGivenUp =
        job?.state === "failed" && ended.length === 0 && job.payload === "hopeless" && did.has(`give-up ${id} ${job.attempts}`);
      if (!isDone && !isGivenUp) wrong.push(`${id} (${job?.payload}) is ${job?.state} after ${JSON.stringify(attempts)}`);
      if (attempts.some(({ number }, index) => number !== index + 1))
        wrong.push(`${id} has attempts ${attempts.map(({ number }) => number)}`);
      for (const { number, outcome } of attempts) {
        const begun = did.get(`begin ${id} ${number}`) ?? 0;
        if (begun > 1) wrong.push(`attempt ${number} of ${id} began ${begun} times`);
        if (begun === 0 && outcome === "lost") unbegun++;
        else if (begun === 0) wrong.push(`attempt ${number} of ${id} ${outcome} without having begun`);
      }
    }
    using db = new Database(path);
    const scheduled = await store.schedules.list("scheduled");
    let runsInAll = 0;
    for (const { key, runs: made, nextAt } of scheduled) {
      const jobs = db
        .query<{ id: string; name: string; state: string; at: number }, [string]>(
          `select id, idempotency_key as name, state, payload ->> 'dueAt' as at from job
           where kind = 'scheduled' and payload ->> 'key' = ? order by seq`,
        )
        .all(key);
      runsInAll += made;
      const wanted = jobs.map(({ at }, index) => `${key}#${index + 1}@${at}`);
      if (jobs.length !== made || jobs.some(({ name }, index) => name !== wanted[index]))
        wrong.push(`${key} ran ${made} times by ${jobs.map(({ name }) => name)}`);
      const times = jobs.map(({ at }) => at);
      if ([...times, nextAt ?? 0].some((at, index) => index > 0 && at <= (times[index - 1] as number)))
        wrong.push(`${key} ran at ${times}`);
      for (const { id, state } of jobs) {
        const outcomes = (await store.jobs.attempts(id)).map(({ outcome }) => outcome);
        const isDone = state === "succeeded" && outcomes.filter((outcome) => outcome === "succeeded").length === 1;
        // Three kills while the same run was being done are all that it gets.
        const isGivenUp = state === "failed" && outcomes.join() === "lost,lost,lost" && did.has(`give-up ${id} 3`);
        if (!isDone && !isGivenUp) wrong.push(`${id} of ${key} is ${state} after ${outcomes}`);
      }
    }
    await store.close();
    console.log(
      `kills of nodes: ${KILLS}, ${acknowledged.length} jobs, ${unbegun} attempts were claimed and not begun, ${runsInAll} scheduled runs`,
    );
    expect(scheduled.length).toBe(4);
    expect(runsInAll).toBeGreaterThan(KILLS / 10);
    expect(db.query("pragma integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(wrong).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(KILLS);
    // A process that is killed between a claim and the first line of the handlers leaves at most a
    // claim's worth of these.
    expect(unbegun).toBeLessThanOrEqual(KILLS);
  },
  patience(300_000),
);
