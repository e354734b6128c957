import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type DescFile, type DescMethod, getOption } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { ErrorCode, ErrorDetailSchema } from "../../../gen/svc/v1/error_pb.ts";
import { max_body_bytes, Permission, permission } from "../../../gen/svc/v1/options_pb.ts";
import { SERVICES } from "../../../src/contract/services.ts";
import { PERMISSION_NAMES, PERMISSIONS } from "../../../src/domain/permissions.ts";
import { authorize } from "../../../src/server/access/authorize.ts";
import type { Callers } from "../../../src/server/access/callers.ts";
import { createTokens, type Tokens } from "../../../src/server/access/tokens.ts";
import { createLog } from "../../../src/server/log.ts";
import { SHORT_BODY_BYTES } from "../../../src/server/wire/http/body.ts";
import { toConnectError } from "../../../src/server/wire/interceptors.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";

const GEN = join(import.meta.dir, "../../../gen/svc/v1");
const methods: DescMethod[] = [];
const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  for (const name of readdirSync(GEN)) {
    const module = (await import(join(GEN, name))) as Record<string, DescFile>;
    const file = module[`file_svc_v1_${name.replace("_pb.ts", "")}`];
    for (const service of file?.services ?? []) methods.push(...service.methods);
  }
  server = await TestServer.start(folder.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** Calls a method with an empty message, as Connect does over HTTP. */
async function call(method: DescMethod, token?: string): Promise<string> {
  const isUnary = method.methodKind === "unary";
  const response = await fetch(`${server.url}/${method.parent.typeName}/${method.name}`, {
    method: "POST",
    headers: {
      "content-type": isUnary ? "application/proto" : "application/connect+proto",
      "connect-protocol-version": "1",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: isUnary ? new Uint8Array(0) : new Uint8Array(5),
  });
  const text = isUnary ? await response.text() : await beginning(response);
  return /"code":"(\w+)"/.exec(text)?.[1] ?? "ok";
}

/** The first message of a stream, which may have no end of its own. */
async function beginning({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return new TextDecoder().decode(first?.value);
}

/** Tokens and their callers. */
function everybodyExists(): { tokens: Tokens; callers: Callers } {
  const tokens = createTokens({ keys: [{ id: "k", secret: new Uint8Array(32) }], clock: new TestClock() });
  return {
    tokens,
    callers: { ofToken: (token) => tokens.verify(token), ofSession: async () => undefined, still: async (caller) => caller },
  };
}

describe("the contract", () => {
  test("every service is served, and every method is implemented", async () => {
    expect(methods.length).toBeGreaterThan(15);
    expect(new Set(methods.map(({ parent }) => parent.typeName))).toEqual(new Set(Object.values(SERVICES).map(({ typeName }) => typeName)));
    const token = await server.token();
    for (const method of methods) expect([method.name, await call(method, token)]).not.toEqual([method.name, "unimplemented"]);
  });

  test("every method states its permission, and all but the public ones ask for a token", async () => {
    for (const method of methods) {
      const stated = getOption(method, permission);
      expect([method.name, stated]).not.toEqual([method.name, Permission.UNSPECIFIED]);
      const answer = await call(method);
      if (stated === Permission.PUBLIC) expect([method.name, answer]).not.toEqual([method.name, "unauthenticated"]);
      else expect([method.name, answer]).toEqual([method.name, "unauthenticated"]);
    }
  });

  test("only those who may query, deploy, store data, run containers, or set secrets or settings send bodies that take room", () => {
    for (const method of methods) {
      if (getOption(method, max_body_bytes) <= SHORT_BODY_BYTES) continue;
      expect([
        ...[Permission.QUERY_ONLINE, Permission.QUERY_OFFLINE, Permission.DATA_WRITE],
        ...[Permission.DEPLOY, Permission.SECRETS_WRITE, Permission.SETTINGS_WRITE, Permission.CONTAINERS_WRITE],
      ]).toContain(getOption(method, permission));
    }
  });

  test("a token without permissions opens what any token opens, and nothing else", async () => {
    const { tokens, callers } = everybodyExists();
    const headers = new Headers({ authorization: `Bearer ${await tokens.issue({ clientId: "c", teamId: "t", permissions: [] })}` });
    for (const { option } of PERMISSIONS)
      await expect(authorize(callers, headers, Permission[option])).rejects.toMatchObject({ kind: "permission_denied" });
    expect((await authorize(callers, headers, Permission.AUTHENTICATED))?.clientId).toBe("c");
  });

  test("every permission of the contract has a name, and a token that holds one opens that and no other; admin opens all", async () => {
    const { tokens, callers } = everybodyExists();
    const named = Object.values(Permission).filter((value) => typeof value === "number" && value > Permission.AUTHENTICATED);
    expect(PERMISSIONS.map(({ option }) => Permission[option] as number).toSorted((a, b) => a - b)).toEqual(
      named.map(Number).toSorted((a, b) => a - b),
    );
    for (const { name } of PERMISSIONS) {
      const headers = new Headers({ authorization: `Bearer ${await tokens.issue({ clientId: "c", teamId: "t", permissions: [name] })}` });
      const opened: string[] = [];
      for (const { name: wanted, option } of PERMISSIONS) {
        const isOpen = await authorize(callers, headers, Permission[option]).then(
          () => true,
          () => false,
        );
        if (isOpen) opened.push(wanted);
      }
      expect(opened).toEqual(name === "admin" ? [...PERMISSION_NAMES] : [name]);
    }
  });

  test("a method whose permission was forgotten is refused, whatever the token holds", async () => {
    const { tokens, callers } = everybodyExists();
    const headers = new Headers({
      authorization: `Bearer ${await tokens.issue({ clientId: "c", teamId: "t", permissions: PERMISSION_NAMES })}`,
    });
    await expect(authorize(callers, headers, Permission.UNSPECIFIED)).rejects.toMatchObject({ kind: "permission_denied" });
    await expect(authorize(callers, headers, 99 as Permission)).rejects.toMatchObject({ kind: "permission_denied" });
  });

  test("a fault of the server is logged under an id that the caller gets, and says nothing else", () => {
    const lines: string[] = [];
    const clock = new TestClock();
    const fault = new TypeError("cannot read property of /private/place");
    const error = toConnectError(
      { clock, dataDir: "/data", log: createLog({ clock, write: (line) => lines.push(line) }) },
      "Service/Method",
      fault,
    );
    expect(error.code).toBe(Code.Internal);
    const id = /req_[0-9a-f]{32}/.exec(error.rawMessage)?.[0];
    expect(error.rawMessage).toBe(`The server failed (${id}). Its log has the details: \`svc server logs\`.`);
    expect(error.findDetails(ErrorDetailSchema)[0]?.code).toBe(ErrorCode.INTERNAL_SERVER_ERROR);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      level: "error",
      id,
      method: "Service/Method",
      error: expect.stringContaining(fault.message),
    });
  });
});
