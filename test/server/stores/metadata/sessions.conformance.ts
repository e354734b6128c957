/** What every metadata store must do: logins, entries and browser sessions. */

import { describe, expect, test } from "bun:test";
import type { EntryRecord } from "../../../../src/server/stores/metadata/sessions.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

/** Runs the suite against a driver. */
export function sessionsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, logins, entries and browser sessions: ${driver.name}`, () => {
    const on = openEach(driver);

    test("login sessions go from pending to confirmed to taken, once each", async () => {
      await on.bootstrap();
      const session = {
        id: "login_1",
        secretHash: new Uint8Array([9]),
        deviceName: "laptop",
        address: "192.0.2.1",
        userCode: "BCDF-GHJK",
        state: "pending" as const,
        permissions: [],
        personId: "",
        createdAt: NOW,
        expiresAt: NOW + 1000,
      };
      const client = {
        id: "client_new",
        teamId: "team_1",
        name: "laptop",
        secretHash: new Uint8Array([5]),
        permissions: ["read"],
        createdAt: NOW,
      };
      await on.store.createLoginSession(session);
      expect(await on.store.loginSession("login_1")).toEqual(session);
      expect(await on.store.takeLoginSession("login_1", client, NOW)).toBe(false);
      const confirmed = { state: "confirmed" as const, by: "client_1", permissions: ["read"], personId: "owner" };
      const denied = { state: "denied" as const, by: "client_1", permissions: [], personId: "" };
      expect(await on.store.decideLoginSession("login_1", confirmed, NOW + 1000)).toBe(false);
      expect(
        await Promise.all([on.store.decideLoginSession("login_1", confirmed, NOW), on.store.decideLoginSession("login_1", denied, NOW)]),
      ).toEqual([true, false]);
      expect(await on.store.loginSession("login_1")).toMatchObject({ permissions: ["read"], personId: "owner" });
      expect(await on.store.takeLoginSession("login_1", client, NOW + 1000)).toBe(false);
      expect(await on.store.client("client_new")).toBeUndefined();
      const other = { ...client, id: "client_other" };
      expect(
        await Promise.all([on.store.takeLoginSession("login_1", client, NOW), on.store.takeLoginSession("login_1", other, NOW)]),
      ).toEqual([true, false]);
      expect(await on.store.client("client_new")).toEqual(client);
      expect(await on.store.client("client_other")).toBeUndefined();
      expect((await on.store.loginSession("login_1"))?.state).toBe("taken");
      expect(await on.store.decideLoginSession("login_9", denied, NOW)).toBe(false);
    });

    const entry = (n: number, patch: Partial<EntryRecord> = {}): EntryRecord => ({
      codeHash: new Uint8Array([1, n]),
      clientId: "client_1",
      permissions: ["read"],
      path: "/a?b#c",
      createdAt: NOW + n,
      expiresAt: NOW + 1000,
      ...patch,
    });
    const session = (n: number, patch: object = {}) => ({
      id: `ses_${n}`,
      cookieHash: new Uint8Array([2, n]),
      keyHash: new Uint8Array([3, n]),
      userAgent: "browser",
      createdAt: NOW,
      lastUsedAt: NOW + n,
      expiresAt: NOW + 5000,
      ...patch,
    });

    test("login sessions that wait are counted, by address and in all, until they are decided or end", async () => {
      const waiting = {
        secretHash: new Uint8Array([9]),
        deviceName: "d",
        userCode: "",
        state: "pending" as const,
        permissions: [],
        personId: "",
      };
      for (const [id, address] of [
        ["login_1", "a"],
        ["login_2", "a"],
        ["login_3", "b"],
      ] as const)
        await on.store.createLoginSession({ ...waiting, id, address, createdAt: NOW, expiresAt: NOW + 1000 });
      expect(await on.store.pendingLoginSessions("a", NOW)).toEqual({ ofAddress: 2, all: 3 });
      await on.store.decideLoginSession("login_1", { state: "denied", by: "", permissions: [], personId: "" }, NOW);
      expect(await on.store.pendingLoginSessions("a", NOW)).toEqual({ ofAddress: 1, all: 2 });
      expect(await on.store.pendingLoginSessions("a", NOW + 1000)).toEqual({ ofAddress: 0, all: 0 });
    });

    test("an entry is redeemed once, in time, and the session has what the entry gives", async () => {
      await on.store.createEntry(entry(1), 10);
      await on.store.createEntry(entry(2, { expiresAt: NOW + 10 }), 10);
      expect(await on.store.redeemEntry(new Uint8Array([1, 9]), session(9), 10)).toBeUndefined();
      expect(await on.store.redeemEntry(new Uint8Array([1, 2]), session(2, { createdAt: NOW + 10 }), 10)).toBeUndefined();
      const both = await Promise.all([1, 8].map((n) => on.store.redeemEntry(new Uint8Array([1, 1]), session(n), 10)));
      expect(both).toEqual([entry(1), undefined]);
      await on.reopen();
      const opened = { ...session(1), clientId: "client_1", permissions: ["read"] };
      expect(await on.store.browserSession(new Uint8Array([2, 1]))).toEqual(opened);
      expect(await on.store.browserSession(new Uint8Array([2, 8]))).toBeUndefined();
      await on.store.touchBrowserSession("ses_1", { lastUsedAt: NOW + 50, expiresAt: NOW + 6000 });
      expect(await on.store.browserSessions(NOW + 5500)).toEqual([{ ...opened, lastUsedAt: NOW + 50, expiresAt: NOW + 6000 }]);
      expect(await on.store.browserSessions(NOW + 6000)).toEqual([]);
      expect(await on.store.browserSessions(NOW, "client_2")).toEqual([]);
      await on.store.deleteBrowserSessions(["ses_1", "ses_none"]);
      expect(await on.store.browserSession(new Uint8Array([2, 1]))).toBeUndefined();
    });

    test("a session ends no later than its entry says", async () => {
      await on.store.createEntry(entry(1, { sessionEndsAt: NOW + 3000 }), 10);
      await on.store.createEntry(entry(2, { sessionEndsAt: NOW + 9000 }), 10);
      for (const n of [1, 2]) await on.store.redeemEntry(new Uint8Array([1, n]), session(n), 10);
      await on.reopen();
      expect(await on.store.browserSession(new Uint8Array([2, 1]))).toMatchObject({ expiresAt: NOW + 3000, endsAt: NOW + 3000 });
      expect(await on.store.browserSession(new Uint8Array([2, 2]))).toMatchObject({ expiresAt: NOW + 5000, endsAt: NOW + 9000 });
    });

    test("a login at a provider is taken once, in time, with its state and cookie, and counted until then", async () => {
      const login = (n: number, patch: object = {}) => ({
        stateHash: new Uint8Array([4, n]),
        cookieHash: new Uint8Array([5, n]),
        sealed: "v1.key.iv.text",
        path: "/a?b#c",
        redirectUri: "https://svc.example.com/login/oidc/callback",
        address: n === 3 ? "b" : "a",
        createdAt: NOW,
        expiresAt: NOW + 1000,
        ...patch,
      });
      for (const n of [1, 2, 3]) await on.store.createProviderLogin(login(n));
      await on.reopen();
      expect(await on.store.waitingProviderLogins("a", NOW)).toEqual({ ofAddress: 2, all: 3 });
      const take = (state: number, cookie = state, now = NOW) =>
        on.store.takeProviderLogin(new Uint8Array([4, state]), new Uint8Array([5, cookie]), now);
      expect([await take(1, 2), await take(9), await take(1, 1, NOW + 1000)]).toEqual([undefined, undefined, undefined]);
      expect(await Promise.all([take(1), take(1)])).toEqual([login(1), undefined]);
      expect(await on.store.waitingProviderLogins("a", NOW)).toEqual({ ofAddress: 1, all: 2 });
      expect(await on.store.waitingProviderLogins("a", NOW + 1000)).toEqual({ ofAddress: 0, all: 0 });
    });

    test("a confirmed login keeps whose client it makes, and its end", async () => {
      const waiting = { secretHash: new Uint8Array([9]), deviceName: "d", address: "", userCode: "", state: "pending" as const };
      await on.store.createLoginSession({
        ...waiting,
        id: "login_1",
        permissions: [],
        personId: "",
        createdAt: NOW,
        expiresAt: NOW + 1000,
      });
      const own = { parentId: "person_1", personId: "person_1", clientExpiresAt: NOW + 9000 };
      await on.store.decideLoginSession("login_1", { state: "confirmed", by: "person_1", permissions: ["read"], ...own }, NOW);
      await on.reopen();
      expect(await on.store.loginSession("login_1")).toMatchObject({ state: "confirmed", ...own });
    });

    test("of a client's entries and sessions the newest stay", async () => {
      for (const n of [1, 2, 3]) await on.store.createEntry(entry(n), 2);
      await on.store.createEntry(entry(7, { clientId: "client_2" }), 2);
      expect(await on.store.redeemEntry(new Uint8Array([1, 1]), session(1), 2)).toBeUndefined();
      expect(await on.store.redeemEntry(new Uint8Array([1, 2]), session(2), 2)).toBeDefined();
      expect(await on.store.redeemEntry(new Uint8Array([1, 7]), session(7), 2)).toBeDefined();
      for (const n of [3, 4]) {
        if (n === 4) await on.store.createEntry(entry(n), 2);
        expect(await on.store.redeemEntry(new Uint8Array([1, n]), session(n), 2)).toBeDefined();
      }
      expect((await on.store.browserSessions(NOW)).map(({ id }) => id)).toEqual(["ses_7", "ses_4", "ses_3"]);
    });

    test("a person goes with the command lines of the person, and what those had", async () => {
      await on.bootstrap();
      const person = { id: "person_1", personId: "person_1", subject: "alice", name: "a", secretHash: new Uint8Array([7]) };
      const whole = { ...person, teamId: "team_1", permissions: ["read"], createdAt: NOW };
      await on.store.putClient(whole);
      await on.store.putClient({ ...whole, name: "b", permissions: ["admin"], environments: ["env_1"], createdAt: NOW + 5 });
      const changed = { ...whole, name: "b", permissions: ["admin"], environments: ["env_1"] };
      expect(await on.store.client("person_1")).toEqual(changed);
      await on.store.putClient(whole);
      await on.reopen();
      expect(await on.store.client("person_1")).toEqual(whole);
      const own = { id: "client_2", teamId: "team_1", name: "l", secretHash: new Uint8Array([8]), permissions: [], createdAt: NOW };
      await on.store.createClient({ ...own, parentId: "person_1", expiresAt: NOW + 1000 });
      for (const [n, clientId] of [
        [1, "client_1"],
        [2, "client_2"],
        [3, "person_1"],
      ] as const) {
        await on.store.createEntry(entry(n, { clientId }), 10);
        await on.store.redeemEntry(new Uint8Array([1, n]), session(n), 10);
      }
      expect(await Promise.all([on.store.deleteClient("person_1"), on.store.deleteClient("person_1")])).toEqual([2, undefined]);
      expect(await on.store.client("client_2")).toBeUndefined();
      expect((await on.store.browserSessions(NOW)).map(({ id }) => id)).toEqual(["ses_1"]);
      expect(await on.store.deleteClient("client_none")).toBeUndefined();
    });

    test("a client goes with its entries, its browser sessions and the logins that it confirmed", async () => {
      await on.bootstrap();
      const other = {
        id: "client_2",
        teamId: "team_1",
        name: "other",
        secretHash: new Uint8Array([7]),
        personId: "",
        permissions: [],
        createdAt: NOW + 1,
      };
      await on.store.createClient(other);
      await on.store.touchClient("client_2", NOW + 9);
      expect((await on.store.clients("team_1")).map(({ id, lastUsedAt }) => [id, lastUsedAt])).toEqual([
        ["client_1", undefined],
        ["client_2", NOW + 9],
      ]);
      expect(await on.store.clients("team_9")).toEqual([]);
      for (const n of [1, 2]) {
        await on.store.createEntry(entry(n), 10);
        if (n === 1) await on.store.redeemEntry(new Uint8Array([1, n]), session(n), 10);
      }
      const waiting = {
        secretHash: new Uint8Array([9]),
        deviceName: "d",
        address: "",
        userCode: "",
        permissions: [],
        personId: "",
        state: "pending" as const,
      };
      await on.store.createLoginSession({ ...waiting, id: "login_1", createdAt: NOW, expiresAt: NOW + 1000 });
      await on.store.decideLoginSession("login_1", { state: "confirmed", by: "client_1", permissions: ["read"], personId: "owner" }, NOW);
      expect(await Promise.all([on.store.deleteClient("client_1"), on.store.deleteClient("client_1")])).toEqual([1, undefined]);
      await on.reopen();
      expect(await on.store.client("client_1")).toBeUndefined();
      expect(await on.store.browserSessions(NOW)).toEqual([]);
      expect(await on.store.redeemEntry(new Uint8Array([1, 2]), session(2), 10)).toBeUndefined();
      expect((await on.store.loginSession("login_1"))?.state).toBe("denied");
      expect((await on.store.client("client_2"))?.name).toBe("other");
    });
  });
}
