import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { FetchError, ofetch } from "ofetch";
import { ErrorCode, ErrorDetailSchema } from "../../gen/svc/v1/error_pb.ts";
import { AbortedError, AuthError, CliError, InterruptedError, OutputClosedError } from "../../src/errors/cli-error.ts";
import { signalExitCode } from "../../src/errors/exit-codes.ts";
import { fromSystem } from "../../src/errors/from-system.ts";
import { report, toCliError } from "../../src/errors/report.ts";
import { testIo } from "../harness/context.ts";

async function said(error: unknown, options = { json: false, debug: false }) {
  const { io, stderr, stdout } = testIo();
  const exitCode = await report(error, io, options);
  expect(stdout()).toBe("");
  return { exitCode, stderr: stderr() };
}

describe("report", () => {
  test("text: message, then hint", async () => {
    expect(await said(new CliError("it broke", { hint: "Mend it." }))).toEqual({ exitCode: 1, stderr: "Error: it broke\nMend it.\n" });
    expect(await said(new AbortedError())).toEqual({ exitCode: 1, stderr: "Aborted.\n" });
    expect(await said(new InterruptedError(signalExitCode("SIGTERM")))).toEqual({ exitCode: 143, stderr: "Interrupted.\n" });
    expect((await said(new CliError("Error[190]: bad\n --> svc.yaml:1:1"))).stderr).toBe("Error[190]: bad\n --> svc.yaml:1:1\n");
  });

  test("control characters of a message are written visibly, its lines stay", async () => {
    expect((await said(new CliError("a\u001b[2Jb\nc"))).stderr).toBe("Error: a\\x1b[2Jb\nc\n");
    const hostile = new CliError("a\u001b[2J\u009bb", { details: { a: "\u009b" }, cause: new Error("\u0007\u202e") });
    for (const json of [false, true])
      expect((await said(hostile, { json, debug: true })).stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  test("JSON: one object, with the hint among the details", async () => {
    const { stderr } = await said(new CliError("it broke", { code: "x", hint: "Mend it.", details: { n: 5n } }), {
      json: true,
      debug: false,
    });
    expect(JSON.parse(stderr)).toEqual({ error: { code: "x", message: "it broke", details: { n: "5", hint: "Mend it." } } });
    expect(stderr.split("\n")).toHaveLength(2);
    const plain = await said(new CliError("it broke"), { json: true, debug: false });
    expect(JSON.parse(plain.stderr)).toEqual({ error: { code: "failed", message: "it broke" } });
  });

  test("a reader that went away is no error", async () => {
    expect(await said(new OutputClosedError())).toEqual({ exitCode: 0, stderr: "" });
  });

  test("what is no Error is reported too", async () => {
    expect((await said("just text")).stderr).toContain("this is a fault in svc: just text");
    expect((await said(undefined)).exitCode).toBe(1);
  });

  test("-vv shows stacks, causes and details", async () => {
    const { stderr } = await said(new CliError("outer", { cause: new Error("inner"), details: { a: 1 } }), { json: false, debug: true });
    expect(stderr).toContain("caused by Error: inner");
    expect(stderr).toContain('"details":{"a":1}');
  });
});

describe("errors of others", () => {
  test("Connect: codes, details and hints", async () => {
    const detail = {
      desc: ErrorDetailSchema,
      value: create(ErrorDetailSchema, { code: ErrorCode.RESOLVER_FAILED, message: "no", feature: "user.x", hint: "Look." }),
    };
    const failed = await toCliError(new ConnectError("raw", Code.Internal, undefined, [detail]));
    expect([failed.message, failed.code, failed.hint, failed.exitCode]).toEqual(["no", "resolver_failed", "Look.", 1]);
    expect(failed.details).toEqual({ feature: "user.x", resolver: undefined });
    const missing = await toCliError(new ConnectError("no such branch", Code.NotFound));
    expect([missing.message, missing.code, missing.exitCode]).toEqual(["no such branch", "not_found", 1]);
    expect(await toCliError(new ConnectError("bad token", Code.Unauthenticated))).toBeInstanceOf(AuthError);
    const away = await toCliError(new ConnectError("x", Code.Unavailable));
    expect(away.hint).toContain("svc server start");
  });

  test("fetch: a server that is not there, and statuses", async () => {
    const nobody = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
    const url = `http://127.0.0.1:${nobody.port}/x`;
    await nobody.stop(true);
    const refused = await toCliError(await fetch(url).catch((error: unknown) => error));
    expect(refused.message).toContain("connection refused");
    expect(refused.message).toContain(url);
    expect(refused.hint).toContain("svc server start");
    await using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => Response.json({ error: { message: "not yours" } }, { status: request.url.endsWith("401") ? 401 : 418 }),
    });
    const error = await ofetch(`${server.url}401`, { retry: 0 }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(FetchError);
    const unauthorized = await toCliError(error);
    expect([unauthorized.exitCode, unauthorized.message.endsWith("not yours")]).toEqual([4, true]);
    const teapot = await toCliError(await ofetch(`${server.url}x`, { retry: 0 }).catch((caught: unknown) => caught));
    expect([teapot.code, teapot.exitCode]).toEqual(["http_418", 1]);
  });

  test("the system's: in words, with the path", async () => {
    const missing = await toCliError(
      await Bun.file("/nowhere/at/all")
        .text()
        .catch((error: unknown) => error),
    );
    expect(missing.message).toBe("cannot use /nowhere/at/all: no such file or directory");
    expect(fromSystem(new Error("x"))).toBeUndefined();
    expect(fromSystem(Object.assign(new Error("x"), { code: "ENOSPC" }), "write to stdout")?.message).toBe(
      "cannot write to stdout: no space left on the device",
    );
  });
});
