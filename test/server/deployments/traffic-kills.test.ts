import { expect, test } from "bun:test";
import { join } from "node:path";
import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { TrafficSetting } from "../../../src/server/deployments/traffic.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { patience, runs, seed } from "../../harness/seed.ts";
import { buildOf, deploymentRecord, NOW } from "../stores/metadata/records.ts";
import { type Change, TAGS } from "./traffic-process.ts";

interface ModelTag {
  readonly id: string;
  readonly weight: number | null;
  readonly mirror: number;
}
interface Model {
  readonly tags: Readonly<Record<string, ModelTag>>;
  /** Deployment that is live while nothing is shared. */
  readonly live: string;
}

/** What the model expects of a change; "refused" = nothing changes. */
function applied(model: Model, change: Change): Model | "refused" {
  const after = changed(model, change);
  if (after === "refused") return after;
  const weightOf = ({ weight }: ModelTag): number => weight ?? 0;
  const best = Object.entries(model.tags)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .sort(([, one], [, other]) => weightOf(other) - weightOf(one))[0]?.[1];
  const ends = best !== undefined && weightOf(best) > 0 && Object.values(after).every((tag) => weightOf(tag) === 0);
  return { tags: after, live: ends ? best.id : model.live };
}

function changed({ tags }: Model, change: Change): Record<string, ModelTag> | "refused" {
  const next: Record<string, ModelTag> = { ...tags };
  switch (change.kind) {
    case "set": {
      const named = new Set([...Object.keys(change.weights), ...Object.keys(change.mirrors)]);
      if (named.size === 0) return "refused";
      for (const tag of named)
        next[tag] = {
          id: `dpl_${tag}2`,
          weight: change.weights[tag] ?? tags[tag]?.weight ?? null,
          mirror: change.mirrors[tag] ?? tags[tag]?.mirror ?? 0,
        };
      return next;
    }
    case "suspend":
      next[change.tag] = { id: tags[change.tag]?.id ?? `dpl_${change.tag}2`, weight: null, mirror: tags[change.tag]?.mirror ?? 0 };
      return next;
    case "promote": {
      const [first, second, ...more] = Object.entries(tags);
      if (!first || !second || more.length > 0 || first[1].weight === second[1].weight) return "refused";
      const isFirstLower = (first[1].weight ?? -1) < (second[1].weight ?? -1);
      next[first[0]] = { ...first[1], weight: isFirstLower ? 100 : 0 };
      next[second[0]] = { ...second[1], weight: isFirstLower ? 0 : 100 };
      return next;
    }
    case "deployed": {
      const tag = change.id[4] as string;
      if (tags[tag]) next[tag] = { ...tags[tag], id: change.id };
      return next;
    }
  }
}

/** The process's words, line by line; killed when `end` says so of a line. */
async function runUntil(path: string, from: number, end: (line: { began?: Change; ended?: string }) => boolean): Promise<void> {
  const process = Bun.spawn([Bun.which("bun") ?? "bun", join(import.meta.dir, "traffic-process.ts"), path, String(from)], {
    stdout: "pipe",
    stderr: "inherit",
  });
  let rest = "";
  const decoder = new TextDecoder();
  let isOver = false;
  for await (const chunk of process.stdout) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines)
      if (end(JSON.parse(line)) && !isOver) {
        isOver = true;
        process.kill("SIGKILL");
      }
  }
  await process.exited;
}

test(
  "changes of traffic are whole and durable, whenever their process is killed",
  async () => {
    using folder = new TempFolder();
    const path = join(folder.path, "meta.db");
    const open = () => createSqliteMetadataStore({ path, programVersion: "1.0.0" });
    const first = await open();
    await first.bootstrap({
      team: { id: "team_1", name: "team" },
      project: { id: "prj_1", name: "project" },
      environment: { id: "env_1", name: "default" },
      client: { id: "client_1", name: "first", secretHash: new Uint8Array([1]), permissions: [] },
      now: NOW,
    });
    for (const id of TAGS.flatMap((tag) => [`dpl_${tag}`, `dpl_${tag}2`])) {
      const record = deploymentRecord(id, "env_1", { status: DeploymentStatus.INACTIVE, tags: [id[4] as string] });
      await first.createDeployment(record, buildOf(record));
    }
    await first.promote("dpl_a", NOW);
    await first.close();

    let model: Model = { tags: {}, live: "dpl_a" };
    const tally = { changes: 0, refused: 0, cutOffDone: 0, cutOffUndone: 0 };
    for (let round = 0; round < runs(12, 2_000); round++) {
      let left = 5 + ((seed + round * 7) % 40);
      let underway: Change | undefined;
      await runUntil(path, (seed + round * 7919) >>> 0, ({ began, ended }) => {
        if (began) underway = began;
        if (ended !== undefined && underway) {
          const after = applied(model, underway);
          expect([underway, ended === "done"]).toEqual([underway, after !== "refused"]);
          if (after === "refused") tally.refused++;
          else model = after;
          tally.changes++;
          underway = undefined;
        }
        return began !== undefined && --left <= 0;
      });
      const store = await open();
      const [document] = await store.documents.list("traffic");
      const stored = Object.fromEntries(
        ((document?.content as TrafficSetting | undefined)?.tags ?? []).map(({ tag, deploymentId, weight, mirrorWeight }) => [
          tag,
          { id: deploymentId, weight, mirror: mirrorWeight },
        ]),
      );
      const [pointer] = await store.livePointers();
      await store.close();
      const cutOff = underway === undefined ? "refused" : applied(model, underway);
      const possible: Model[] = [model, ...(cutOff === "refused" ? [] : [cutOff])];
      const found = possible.findLast(({ tags }) => Bun.deepEquals(tags, stored));
      expect(found === undefined ? { stored, possible } : "one of what is possible").toBe("one of what is possible");
      if (found === cutOff) tally.cutOffDone++;
      else tally.cutOffUndone++;
      model = found as Model;
      if (!Object.values(model.tags).some(({ weight }) => weight)) expect(pointer?.deploymentId).toBe(model.live);
    }
    expect(tally.changes).toBeGreaterThan(100);
    expect(tally.refused).toBeGreaterThan(0);
  },
  patience(300_000),
);
