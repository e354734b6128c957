/** Functions that callers run: versions, calls that are answered, and calls that are kept. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { type ComputeCall, ComputeCallState, FunctionService, FunctionTableSchema } from "../../../gen/svc/v1/function_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { TraceService } from "../../../gen/svc/v1/trace_pb.ts";
import { DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { streamOfFile } from "../../../src/server/arrow/file.ts";
import { readArrowStream } from "../../../src/server/arrow/read-stream.ts";
import { arrowStream } from "../../../src/server/arrow/write-stream.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { clientOf, spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive, GREETING, type ProjectFiles } from "../deployments/deploying.ts";

/** Functions, of which some write to files of a folder what they do. */
const functions = (folder: string, rate = "0.5"): ProjectFiles => ({
  ...GREETING,
  "calls.py": `import os, time
from dataclasses import dataclass
from datetime import datetime, timedelta
from svc.compute import function

FOLDER = ${JSON.stringify(folder)}

def note(name, text):
    with open(os.path.join(FOLDER, name), "a") as stream:
        stream.write(text + "\\n")

@function
def fee(amount: float, country: str = "CH") -> float:
    if amount < 0:
        raise ValueError(f"{amount} is below zero")
    return amount * ${rate}

@dataclass
class Parts:
    name: str
    sizes: list[int]

@function(batch=True)
def parts(names: list[str | None], at: list[datetime]) -> list[Parts | None]:
    return [Parts(name, [len(name), time.year]) if name else None for name, time in zip(names, at)]

@function(batch=True)
def short(names: list[str]) -> list[str]:
    return names[1:]

@function
async def slept(seconds: float) -> str:
    import asyncio
    await asyncio.sleep(seconds)
    return f"{seconds}"

@function
def wrong(kind: str) -> int:
    return {"text": "1", "none": None, "large": 2**70}[kind]

@function(concurrency=1)
async def alone(name: str) -> str:
    import asyncio
    note("alone", "begin")
    while not os.path.exists(os.path.join(FOLDER, name)):
        await asyncio.sleep(0.01)
    note("alone", "end")
    return name

@function(timeout="300ms")
def late() -> bool:
    time.sleep(600)
    return True

@function
def waits(name: str) -> str:
    note("waits", f"begin {name}")
    while not os.path.exists(os.path.join(FOLDER, name)):
        time.sleep(0.01)
    note("waits", f"end {name}")
    return name

@function
def huge(size: int) -> str:
    return "x" * size

@function(environment="other")
def elsewhere() -> bool:
    return True

@function
def ends() -> bool:
    os._exit(3)
`,
});

const lines = (path: string): string[] => (existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : []);
const json = (columns: unknown) => create(FunctionTableSchema, { form: { case: "columnsJson", value: JSON.stringify(columns) } });
const NOTHING = create(FunctionTableSchema, { form: { case: "columnsJson", value: "" } });
const FLOAT = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.FLOAT64 } });

async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ConnectError) return `${Code[error.code]}: ${error.rawMessage}`;
    throw error;
  }
  throw new Error("the call was not refused");
}

let folder: TempFolder;
let server: TestServer;
const service = () => server.client(FunctionService);
const answer = async (name: string, columns?: unknown, version = 0) => {
  const { error, result } = await service().callFunction({ name, version, arguments: columns === undefined ? NOTHING : json(columns) });
  if (error) return error.message;
  return result?.form.case === "columnsJson" ? (JSON.parse(result.form.value) as { readonly result: unknown }).result : result;
};

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  await server.server.ready;
  expectLive(await deploy(server, functions(folder.path)));
}, 300_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  folder?.[Symbol.dispose]();
});

describe("calls", () => {
  test("rows of JSON are a call each, and what is left out has the function's own value", async () => {
    expect(await answer("fee", { amount: [1, 2.5, 0], country: ["CH", "DE", "FR"] })).toEqual([0.5, 1.25, 0]);
    expect(await answer("fee", { amount: [] })).toEqual([]);
    const at = ["2026-01-31T10:00:00Z", "2025-01-01T00:00:00Z"];
    expect(await answer("parts", { names: ["ab", null], at })).toEqual([{ name: "ab", sizes: [2, 2026] }, null]);
    expect(await answer("slept", { seconds: Array.from({ length: 150 }, () => 0.2) })).toHaveLength(150);
  });

  test("arguments of Arrow give a result of Arrow in the same form", async () => {
    const values = [1, 2, 3];
    const stream = arrowStream([{ name: "amount", type: FLOAT, values }], values.length, {});
    const answered = await service().callFunction({ name: "fee", arguments: { form: { case: "arrow", value: stream } } });
    const bytes = answered.result?.form.case === "arrow" ? answered.result.form.value : new Uint8Array(0);
    expect(readArrowStream(bytes, 100)).toMatchObject({ names: ["result"], columns: [[0.5, 1, 1.5]] });
    expect(answered).toMatchObject({ version: 1, traceId: expect.stringMatching(/^[0-9a-f]{32}$/) });
    const { arrowFile } = await import("../../../src/server/arrow/file.ts");
    const file = arrowFile([{ name: "amount", type: FLOAT, values }], values.length);
    const { result } = await service().callFunction({ name: "fee", arguments: { form: { case: "arrow", value: file } } });
    const filed = result?.form.case === "arrow" ? result.form.value : new Uint8Array(0);
    expect(readArrowStream(streamOfFile(filed), 100).columns).toEqual([[0.5, 1, 1.5]]);
  });

  test("arguments that are not those of the function are refused, by column and row", async () => {
    const said = (name: string, columns: unknown) => refusal(answer(name, columns));
    expect(await said("fee", { amount: [1], county: ["CH"] })).toBe("InvalidArgument: 'fee' has no parameter 'county'.");
    expect(await said("fee", { country: ["CH"] })).toBe("InvalidArgument: The arguments have no column 'amount', which 'fee' needs.");
    expect(await said("fee", { amount: [1, null] })).toBe(
      "InvalidArgument: Row 1 has no value of 'amount', and 'fee' takes no None for it.",
    );
    expect(await said("fee", { amount: [1, "x"] })).toStartWith("InvalidArgument: 'amount' of row 1 is ");
    expect(await said("fee", { amount: [1], country: [] })).toContain("no JSON object of lists of one length");
    expect(await said("fee", {})).toContain("no JSON object of lists of one length");
    expect(await said("fee", { amount: Array.from({ length: 100_001 }, () => 1) })).toContain("at most 100000 rows");
    expect(await said("fees", { amount: [1] })).toEndWith("has no function 'fees'; did you mean 'fee'?");
    expect(await said("elsewhere", undefined)).toContain("exists in other only");
    for (const value of [new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]), new TextEncoder().encode("ARROW1\0\0ARROW1"), new Uint8Array(100)])
      expect(await refusal(service().callFunction({ name: "fee", arguments: { form: { case: "arrow", value } } }))).toStartWith(
        "InvalidArgument: ",
      );
  });

  test("what a function raises comes with its row and its traceback, and is among the errors", async () => {
    const { error, result } = await service().callFunction({ name: "fee", arguments: json({ amount: [1, -2, -3] }) });
    expect(result).toBeUndefined();
    expect(error?.message).toBe("row 1: function 'fee' raised ValueError: -2.0 is below zero (calls.py:15)");
    expect(error?.exception).toMatchObject({ kind: "ValueError", file: "calls.py", line: 15 });
    expect(error?.exception?.stacktrace).toContain('File "calls.py", line 15, in fee');
    const { QueryErrorService } = await import("../../../gen/svc/v1/query_error_pb.ts");
    await eventually(async () => {
      const { errors } = await server.client(QueryErrorService).listQueryErrors({ filter: { search: "kind:function resolver:fee" } });
      return errors.length > 0;
    }, "the error");
  });

  test("a result that is not what the function states is an error of the function", async () => {
    expect(await answer("wrong", { kind: ["text"] })).toContain("wrong");
    expect(await answer("wrong", { kind: ["none"] })).toBe("function 'wrong' returned None, and does not say that it may");
    expect(await answer("wrong", { kind: ["large"] })).toContain("out of range");
    expect(await answer("short", { names: ["a", "b"] })).toContain("'short' returned 1 values for 2 rows");
    expect(await answer("huge", { size: [17 * 1024 * 1024] })).toContain("a result has at most 16777216");
    expect(await answer("fee", { amount: [2] })).toEqual([1]);
  });

  test("one that takes too long, or ends its process, fails; the next call is answered", async () => {
    const { error } = await service().callFunction({ name: "late" });
    expect(error?.code).toBe(ErrorCode.RESOLVER_TIMED_OUT);
    expect(await answer("ends")).toContain("the worker exited with code 3");
    await eventually(async () => Array.isArray(await answer("fee", { amount: [2] }).catch(() => undefined)), "another worker");
  });

  test("calls of a function wait for their turn, and one that nobody waits for is ended", async () => {
    const path = join(folder.path, "alone");
    const gone = new AbortController();
    const first = service()
      .callFunction({ name: "alone", arguments: json({ name: ["go-never"] }) }, { signal: gone.signal })
      .catch(() => undefined);
    await eventually(() => lines(path).length === 1, "the first call");
    const second = answer("alone", { name: ["go-second"] });
    const third = answer("alone", { name: ["go-second"] });
    expect(await answer("fee", { amount: [2] })).toEqual([1]);
    expect(lines(path)).toEqual(["begin"]);
    gone.abort();
    await first;
    appendFileSync(join(folder.path, "go-second"), "");
    expect(await Promise.all([second, third])).toEqual([["go-second"], ["go-second"]]);
    expect(lines(path)).toEqual(["begin", "begin", "end", "begin", "end"]);
  });

  test("a long call takes no worker from queries", async () => {
    const calls = Array.from({ length: 6 }, () => answer("waits", { name: ["go-long"] }));
    await eventually(() => lines(join(folder.path, "waits")).length > 0, "a call that runs");
    const { data } = await server.client(QueryService).query({
      ...{ inputs: [{ feature: "user.id", value: { case: "text", value: "1" } }], outputs: ["user.name"] },
    });
    expect(data).toHaveLength(1);
    appendFileSync(join(folder.path, "go-long"), "");
    await Promise.all(calls);
  });

  test("a traced call has its function in the trace that its caller named", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const traced = server.client(FunctionService, { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } });
    expect((await traced.callFunction({ name: "fee", arguments: json({ amount: [1] }) })).traceId).toBe(traceId);
    await eventually(async () => {
      const { spans } = await server
        .client(TraceService)
        .getTrace({ trace: { case: "traceId", value: traceId } })
        .catch(() => ({ spans: [] }));
      return spans.some(({ name }) => name === "function fee");
    }, "the span");
  });
});

describe("kept calls", () => {
  const ended = async (id: string): Promise<ComputeCall> => {
    let call: ComputeCall | undefined;
    await eventually(async () => {
      call = (await service().getFunctionCall({ id })).call;
      return call !== undefined && call.state > ComputeCallState.RUNNING;
    }, "the end of the call");
    return call as ComputeCall;
  };
  const submit = async (name: string, columns: unknown): Promise<ComputeCall> =>
    (await service().submitFunctionCall({ name, arguments: json(columns) })).call as ComputeCall;

  test("a kept call has its result, its state and a trace", async () => {
    const before = (await service().countFunctionCalls({ name: "fee" })).count;
    const call = await submit("fee", { amount: [2, 4] });
    expect(call).toMatchObject({ name: "fee", version: 1, rows: 2, traceId: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(await ended(call.id)).toMatchObject({ state: ComputeCallState.SUCCEEDED, attempts: 1 });
    const { result } = await service().getFunctionCall({ id: call.id });
    expect(result?.form).toEqual({ case: "columnsJson", value: '{"result":[1,2]}' });
    const { calls } = await service().listFunctionCalls({ name: "fee", limit: 1 });
    expect(calls.map(({ id }) => id)).toEqual([call.id]);
    expect((await service().countFunctionCalls({ name: "fee" })).count).toBe(before + 1n);
    expect((await service().listFunctionCalls({ limit: 1_000_000 })).calls.length).toBeGreaterThan(0);
    expect((await service().listFunctionCalls({ limit: -5 })).calls).toHaveLength(1);
  });

  test("one that fails keeps the exception, and a bad one is refused at once", async () => {
    const { id } = await submit("fee", { amount: [-1] });
    const call = await ended(id);
    expect(call).toMatchObject({ state: ComputeCallState.FAILED, error: { exception: { kind: "ValueError", line: 15 } } });
    expect(await refusal(service().cancelFunctionCall({ id }))).toBe(`FailedPrecondition: Call ${id} has ended: it is failed.`);
    expect(await refusal(submit("fee", { amount: ["x"] }))).toStartWith("InvalidArgument: 'amount' of row 0");
    expect(await refusal(service().getFunctionCall({ id: "fnc_none" }))).toStartWith("NotFound: There is no call");
  });

  test("one that runs is cancelled, and its function ends", async () => {
    const path = join(folder.path, "waits");
    const { id } = await submit("waits", { name: ["go-cancelled"] });
    await eventually(() => lines(path).includes("begin go-cancelled"), "the call that runs");
    expect((await service().cancelFunctionCall({ id })).call?.state).toBe(ComputeCallState.CANCELLED);
    await eventually(async () => {
      const { JobService } = await import("../../../gen/svc/v1/job_pb.ts");
      const { jobs } = await server.client(JobService).listJobs({ kinds: ["function_call"] });
      return jobs.every(({ endedAt }) => endedAt !== undefined);
    }, "the end of its job");
    appendFileSync(join(folder.path, "go-cancelled"), "");
    expect(await answer("waits", { name: ["go-cancelled"] })).toEqual(["go-cancelled"]);
    expect(lines(path).filter((line) => line === "end go-cancelled")).toHaveLength(1);
  });
});

describe("versions", () => {
  test("a deployment that changes a function makes its next version, by which the others can still be called", async () => {
    expectLive(await deploy(server, functions(folder.path, "0.25")));
    expect([await answer("fee", { amount: [4] }), await answer("fee", { amount: [4] }, 1)]).toEqual([[1], [2]]);
    const numbers = async (name: string) =>
      (await service().listFunctions({ name })).functions.map(({ live, version }) => [version, live] as const);
    expect(await numbers("fee")).toEqual([
      [2, true],
      [1, false],
    ]);
    expect(await numbers("parts")).toEqual([[1, true]]);
    expectLive(await deploy(server, functions(folder.path)));
    expect(await answer("fee", { amount: [4] })).toEqual([2]);
    expect(await numbers("fee")).toEqual([
      [2, false],
      [1, true],
    ]);
    const { function: first } = await service().getFunction({ name: "fee" });
    expect(first).toMatchObject({ version: 1, signature: "fee(amount: float, country: str = ...) -> float" });
    expect((await service().getFunction({ id: first?.id ?? "" })).function).toEqual(first);
    expect(await refusal(answer("fee", { amount: [4] }, 9))).toBe("NotFound: There is no version 9 of function 'fee' here.");
    expect(await refusal(service().getFunction({ id: "fnv_1", version: 2 }))).toStartWith("InvalidArgument: ");
  });

  test("a function that what is live lacks is called by its version alone, and a branch has its own", async () => {
    const branch = server.client(FunctionService, { headers: { "svc-branch": "b" } });
    expectLive(await deploy(server, functions(folder.path, "0.125"), { branch: "b" }));
    const { result, version } = await branch.callFunction({ name: "fee", arguments: json({ amount: [8] }) });
    expect([version, result?.form.value]).toEqual([3, '{"result":[1]}']);
    expect(await refusal(answer("fee", { amount: [8] }, 3))).toStartWith("NotFound: ");
    expectLive(await deploy(server, GREETING));
    expect(await refusal(answer("fee", { amount: [8] }))).toContain("has no function 'fee'");
    expect(await answer("fee", { amount: [8] }, 2)).toEqual([2]);
  });
});

test("no kept call is lost when the server is killed, and one that ran is run again", async () => {
  using own = new TempFolder();
  const first = await TestServer.start(own.path);
  await first.server.ready;
  expectLive(await deploy(first, functions(own.path)));
  const token = await first.token();
  const { credentials } = first;
  await first[Symbol.asyncDispose]();
  const ids: string[] = [];
  {
    await using running = await spawnServer(own.path, credentials);
    const client = clientOf(FunctionService, running, token);
    for (let n = 0; n < 8; n++)
      ids.push((await client.submitFunctionCall({ name: "waits", arguments: json({ name: ["go"] }) })).call?.id ?? "");
    await eventually(() => lines(join(own.path, "waits")).includes("begin go"), "a call that runs");
    await running.kill();
  }
  appendFileSync(join(own.path, "go"), "");
  await using running = await spawnServer(own.path, credentials);
  const client = clientOf(FunctionService, running, token);
  await eventually(async () => {
    const calls = await Promise.all(ids.map(async (id) => (await client.getFunctionCall({ id })).call));
    return calls.every((call) => call?.state === ComputeCallState.SUCCEEDED);
  }, "the end of all calls");
  const attempts = await Promise.all(ids.map(async (id) => (await client.getFunctionCall({ id })).call?.attempts ?? 0));
  expect(Math.max(...attempts)).toBe(2);
  expect((await client.countFunctionCalls({})).count).toBe(8n);
}, 300_000);
