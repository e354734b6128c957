/** What the nodes and progress lines of every metadata store must do. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { NodeState } from "../../../../src/server/stores/metadata/nodes.ts";
import { MOST_PROGRESS_LINES } from "../../../../src/server/stores/metadata/progress.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

const START = 1_700_000_000_000;

/** Runs the suite against a driver. */
export function nodesConformance(driver: Driver<MetadataStore>): void {
  describe(`nodes: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let now = START;
    const node = (id: string, patch: Partial<NodeState> = {}): NodeState => ({
      id,
      url: `http://127.0.0.1/${id}`,
      gatewayUrl: `https://gateway-${id}:1`,
      version: "1",
      isDraining: false,
      ...patch,
    });
    const ids = async (withinMs: number) => (await store.nodes.list(withinMs)).map(({ id }) => id);

    beforeEach(async () => {
      now = START;
      folder = new TempFolder();
      store = await driver.open(folder.path, { now: () => now });
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("a node is kept with all that it says, by the store's clock, over a new start of the store", async () => {
      expect(await store.nodes.join(node("a"))).toBe(START);
      now += 5_000;
      expect(await store.nodes.heartbeat(node("a", { isDraining: true, version: "2" }))).toBe(START + 5_000);
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      expect(await store.nodes.list(1_000)).toEqual([
        { ...node("a", { isDraining: true, version: "2" }), startedAt: START, heartbeatAt: START + 5_000 },
      ]);
      await store.nodes.join(node("a"));
      expect(await store.nodes.list(1_000)).toEqual([{ ...node("a"), startedAt: now, heartbeatAt: now }]);
    });

    test("a node that is not heard of is gone, and its row goes when it is old; one that is heard of again is there again", async () => {
      await store.nodes.join(node("a"));
      now += 1;
      await store.nodes.join(node("b"));
      now += 1_000;
      await store.nodes.heartbeat(node("b"));
      expect([await ids(1_000), await ids(1_001), await ids(500)]).toEqual([["b"], ["a", "b"], ["b"]]);
      expect([await store.nodes.purge(1_001), await store.nodes.purge(1_000), await ids(9_000)]).toEqual([0, 1, ["b"]]);
      await store.nodes.heartbeat(node("a"));
      expect(await ids(500)).toEqual(["b", "a"]);
      await store.nodes.leave("b");
      await store.nodes.leave("unknown");
      expect(await ids(9_000)).toEqual(["a"]);
    });

    test("what ended is removed, and what may still be asked for is kept for a day", async () => {
      const day = 86_400_000;
      const hash = (n: number) => new Uint8Array(32).fill(n);
      const upload = (id: string) => ({ id, sha256: "0".repeat(64), sizeBytes: 1, createdAt: START, expiresAt: START + 10 });
      await store.createUpload(upload("upl_1"));
      const entry = { codeHash: hash(1), clientId: "c", permissions: [], path: "/", createdAt: START, expiresAt: START + 10 };
      await store.createEntry(entry, 10);
      await store.redeemEntry(
        hash(1),
        {
          ...{ id: "ses_1", cookieHash: hash(2), keyHash: hash(3), userAgent: "", createdAt: START, lastUsedAt: START },
          expiresAt: START + 20,
        },
        10,
      );
      await store.createEntry({ ...entry, codeHash: hash(4) }, 10);
      const client = { teamId: "t", name: "", secretHash: hash(5), permissions: [], createdAt: START, expiresAt: START + 10 };
      await store.bootstrap({
        ...{ team: { id: "t", name: "" }, project: { id: "p", name: "" }, environment: { id: "e", name: "" } },
        ...{ client: { ...client, id: "client_1", expiresAt: undefined }, now: START },
      });
      await store.createClient({ ...client, id: "client_2" });
      await store.createClient({ ...client, id: "client_3", tokenId: "st_1" });
      const login = { stateHash: hash(6), cookieHash: hash(7), sealed: "", path: "/", redirectUri: "", address: "" };
      await store.createProviderLogin({ ...login, createdAt: START, expiresAt: START + 10 });
      expect(await store.purgeExpired()).toBe(0);
      now = START + 15;
      expect([await store.purgeExpired(), (await store.browserSession(hash(2)))?.id]).toEqual([2, "ses_1"]);
      now = START + 21;
      expect([await store.purgeExpired(), await store.browserSession(hash(2))]).toEqual([1, undefined]);
      now = START + day + 10;
      expect([await store.purgeExpired(), (await store.upload("upl_1"))?.id]).toEqual([0, "upl_1"]);
      now = START + day + 11;
      expect([await store.purgeExpired(), await store.upload("upl_1")]).toEqual([2, undefined]);
      expect((await store.clients("t")).map(({ id }) => id)).toEqual(["client_1", "client_3"]);
    });

    test("progress lines come in their order, behind the one that was read last, and no more than the newest are kept", async () => {
      const add = (deploymentId: string, text: string) => store.progress.add({ deploymentId, node: "a", text });
      await Promise.all(["1", "2", "3"].map((text) => add("dpl_1", text)));
      await add("dpl_2", "other");
      const lines = await store.progress.since("dpl_1", 0);
      expect(lines.map(({ deploymentId, node: by, text }) => [deploymentId, by, text])).toEqual([
        ["dpl_1", "a", "1"],
        ["dpl_1", "a", "2"],
        ["dpl_1", "a", "3"],
      ]);
      expect((await store.progress.since("dpl_1", lines[1]?.seq ?? 0)).map(({ text }) => text)).toEqual(["3"]);
      expect((await store.progress.last(["dpl_1", "dpl_2", "dpl_3"])).map(({ text }) => text).sort()).toEqual(["3", "other"]);
      await Promise.all(Array.from({ length: MOST_PROGRESS_LINES }, (_, n) => add("dpl_1", `more ${n}`)));
      const kept = await store.progress.since("dpl_1", 0);
      expect([kept.length, kept[0]?.text, kept.at(-1)?.text]).toEqual([MOST_PROGRESS_LINES, "more 0", `more ${MOST_PROGRESS_LINES - 1}`]);
      expect((await store.progress.since("dpl_2", 0)).length).toBe(1);
    });
  });
}
