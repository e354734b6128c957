/** What every metadata store must do: versions of functions, and calls of them that were kept. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import type { CallError, CallLimits, NewFunctionCall } from "../../../../src/server/stores/metadata/function-calls.ts";
import type { DeployedFunction } from "../../../../src/server/stores/metadata/functions.ts";
import type { NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";
import { deploymentRecord, openEach } from "./records.ts";

const START = 1_700_000_000_000;
const of = (name: string, fingerprint: string): DeployedFunction => ({
  name,
  fingerprint,
  definition: new TextEncoder().encode(fingerprint),
});

/** Runs the suite against a driver. */
export function functionsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, versions of functions: ${driver.name}`, () => {
    const on = openEach(driver);
    let made = 0;
    const place = async (id: string, functions: readonly DeployedFunction[], branch = "", environmentId = "env_1") => {
      await on.createDeployment(deploymentRecord(id, environmentId, { branch, status: DeploymentStatus.INACTIVE }));
      await on.store.functions.place({ id, environmentId, branch }, functions, () => `fnv_${++made}`, START + made);
    };
    const versions = async (branch = "", name?: string) =>
      (await on.store.functions.list({ environmentId: "env_1", branch, name, limit: 10 })).map((one) => [
        one.name,
        one.version,
        one.deploymentId,
      ]);
    beforeEach(async () => {
      made = 0;
      await on.bootstrap();
    });

    test("what changes is the next version of its name, the same code is the same one, and numbers are never reused", async () => {
      await place("dpl_1", [of("fee", "a"), of("tax", "a")]);
      await place("dpl_2", [of("fee", "b")]);
      await place("dpl_3", [of("fee", "a")]);
      expect(await versions()).toEqual([
        ["fee", 2, "dpl_2"],
        ["tax", 1, "dpl_1"],
        ["fee", 1, "dpl_3"],
      ]);
      expect(await versions("", "tax")).toEqual([["tax", 1, "dpl_1"]]);
      await on.store.deleteDeployments({ ids: ["dpl_2"] }, { id: "job_9", kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 });
      expect((await versions("", "fee"))[0]).toEqual(["fee", 2, ""]);
      await place("dpl_4", [of("fee", "c")]);
      await on.reopen();
      expect((await versions("", "fee"))[0]).toEqual(["fee", 3, "dpl_4"]);
      const third = await on.store.functions.byVersion("env_1", "", "fee", 3);
      expect(third).toEqual({
        ...{ ...of("fee", "c"), definition: expect.any(Uint8Array), id: "fnv_4", environmentId: "env_1", version: 3 },
        ...{ createdAt: START + 3, deploymentId: "dpl_4" },
      });
      expect(new TextDecoder().decode(third?.definition)).toBe("c");
      expect(await on.store.functions.byId("fnv_4", "env_1", "")).toEqual(third);
      expect(await on.store.functions.byId("fnv_4", "env_2", "")).toBeUndefined();
    });

    test("a deployment that is noted again changes nothing", async () => {
      await place("dpl_1", [of("fee", "a")]);
      await on.store.functions.place({ id: "dpl_1", environmentId: "env_1", branch: "" }, [of("fee", "a")], () => "fnv_9", START);
      expect(await versions()).toEqual([["fee", 1, "dpl_1"]]);
      expect((await on.store.functions.ofDeployment("dpl_1")).map(({ id, name }) => [id, name])).toEqual([["fnv_1", "fee"]]);
    });

    test("branches share numbers, and see what was deployed to them alone", async () => {
      await place("dpl_1", [of("fee", "a")]);
      await place("dpl_2", [of("fee", "b")], "b");
      expect(await versions()).toEqual([["fee", 1, "dpl_1"]]);
      expect(await versions("b")).toEqual([["fee", 2, "dpl_2"]]);
      expect(await on.store.functions.byVersion("env_1", "", "fee", 2)).toBeUndefined();
      expect(await on.store.functions.byId("fnv_1", "env_1", "b")).toBeUndefined();
      await place("dpl_3", [of("fee", "b")]);
      expect(await versions()).toEqual([
        ["fee", 2, "dpl_3"],
        ["fee", 1, "dpl_1"],
      ]);
    });

    test("pages go on before a version", async () => {
      for (const code of ["a", "b", "c"]) await place(`dpl_${code}`, [of("fee", code)]);
      const page = await on.store.functions.list({ environmentId: "env_1", branch: "", before: "fnv_3", limit: 1 });
      expect(page.map(({ version }) => version)).toEqual([2]);
    });
  });

  describe(`metadata store, kept calls of functions: ${driver.name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    let now = START;
    const bytes = new Uint8Array([1, 2, 3]);
    const call = (id: string, patch: Partial<NewFunctionCall> = {}): NewFunctionCall => ({
      ...{ id, environmentId: "env_1", branch: "", deploymentId: "dpl_1", name: "fee", version: 2, traceId: "t", traceparent: "" },
      ...{ form: "arrow_file", rows: 4, createdBy: "cli_1", ...patch },
    });
    const job = (id: string): NewJob => ({ id: `job_${id}`, kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 });
    const submit = (id: string, patch: Partial<NewFunctionCall> = {}, limits: CallLimits = { calls: 10, bytes: 100 }) =>
      store.functionCalls.submit(call(id, patch), bytes, job(id), limits);
    const error: CallError = { code: 5, message: "m", exception: { kind: "K", message: "m", stacktrace: "s", file: "f.py", line: 3 } };

    beforeEach(async () => {
      now = START;
      folder = new TempFolder();
      store = await driver.open(folder.path, { now: () => now });
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("a call, its arguments and its job are stored in one step", async () => {
      expect(await submit("fnc_1")).toBe("stored");
      await store.close();
      store = await driver.open(folder.path, { now: () => now });
      expect(await store.functionCalls.call("fnc_1")).toEqual({
        ...{ ...call("fnc_1"), state: "queued", fence: 0, attempts: 0, inputBytes: 3, error: undefined },
        ...{ enqueuedAt: START, startedAt: undefined, endedAt: undefined },
      });
      expect(await store.functionCalls.input("fnc_1")).toEqual(bytes);
      expect(await store.functionCalls.output("fnc_1")).toBeUndefined();
      expect((await store.jobs.job("job_fnc_1"))?.state).toBe("queued");
    });

    test("more than the limits allow are not stored; those that ended do not count", async () => {
      const limits = { calls: 2, bytes: 100 };
      await submit("fnc_1", {}, limits);
      await submit("fnc_2", {}, limits);
      expect(await submit("fnc_3", {}, limits)).toBe("full");
      expect(await store.jobs.job("job_fnc_3")).toBeUndefined();
      expect(await submit("fnc_4", { environmentId: "env_2" }, { calls: 9, bytes: 2 })).toBe("full");
      expect(await store.functionCalls.cancel("fnc_1")).toBe(true);
      expect(await submit("fnc_3", {}, limits)).toBe("stored");
    });

    test("only the latest holder of a call writes to it, and nobody once it has ended", async () => {
      await submit("fnc_1");
      expect(await store.functionCalls.begin("fnc_1", 1, 1)).toMatchObject({ state: "running", attempts: 1, startedAt: START });
      now += 5;
      expect(await store.functionCalls.begin("fnc_1", 3, 2)).toMatchObject({ attempts: 2, startedAt: START });
      expect(await store.functionCalls.end("fnc_1", 2, { state: "failed", error })).toBe(false);
      expect(await store.functionCalls.end("fnc_1", 3, { state: "succeeded", output: bytes })).toBe(true);
      expect(await store.functionCalls.end("fnc_1", 4, { state: "failed", error })).toBe(false);
      expect(await store.functionCalls.begin("fnc_1", 4, 3)).toBeUndefined();
      expect(await store.functionCalls.cancel("fnc_1")).toBe(false);
      expect(await store.functionCalls.call("fnc_1")).toMatchObject({ state: "succeeded", endedAt: START + 5, error: undefined });
      expect(await store.functionCalls.output("fnc_1")).toEqual(bytes);
      expect(await store.functionCalls.input("fnc_1")).toBeUndefined();
    });

    test("a call that fails keeps why, and one that is cancelled forgets its arguments", async () => {
      await submit("fnc_1");
      await store.functionCalls.begin("fnc_1", 1, 1);
      await store.functionCalls.end("fnc_1", 1, { state: "failed", error });
      expect((await store.functionCalls.call("fnc_1"))?.error).toEqual(error);
      await submit("fnc_2");
      await store.functionCalls.cancel("fnc_2");
      expect(await store.functionCalls.call("fnc_2")).toMatchObject({ state: "cancelled", endedAt: START });
      expect(await store.functionCalls.input("fnc_2")).toBeUndefined();
    });

    test("calls are listed newest first and counted since a time, of one function or of all", async () => {
      await submit("fnc_1");
      now += 1_000;
      await submit("fnc_2", { name: "tax" });
      await submit("fnc_3", { environmentId: "env_2" });
      const ids = async (name?: string, limit = 10) => (await store.functionCalls.list("env_1", name, limit)).map(({ id }) => id);
      expect(await ids()).toEqual(["fnc_2", "fnc_1"]);
      expect(await ids("fee")).toEqual(["fnc_1"]);
      expect(await ids(undefined, 1)).toEqual(["fnc_2"]);
      const count = (name: string | undefined, since: number) => store.functionCalls.count("env_1", name, since);
      expect([
        await count(undefined, START),
        await count(undefined, START + 1),
        await count("fee", START),
        await count("fee", START + 1),
      ]).toEqual([2, 1, 1, 0]);
    });

    test("results are forgotten before calls, both only after the end", async () => {
      for (const id of ["fnc_1", "fnc_2"]) await submit(id);
      await store.functionCalls.begin("fnc_1", 1, 1);
      await store.functionCalls.end("fnc_1", 1, { state: "succeeded", output: bytes });
      now += 1_000;
      expect(await store.functionCalls.forgetResults(1_000, 10)).toBe(0);
      expect(await store.functionCalls.forgetResults(999, 10)).toBe(1);
      expect(await store.functionCalls.output("fnc_1")).toBeUndefined();
      expect(await store.functionCalls.purge(999, 10)).toBe(1);
      expect([await store.functionCalls.call("fnc_1"), (await store.functionCalls.call("fnc_2"))?.state]).toEqual([undefined, "queued"]);
    });
  });
}
