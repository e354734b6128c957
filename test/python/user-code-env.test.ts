import { expect, test } from "bun:test";
import { installerEnv, userCodeEnv } from "../../src/python/user-code-env.ts";

test("the server's keys are kept from the code of projects, also when all variables of svc are handed on", () => {
  const env = {
    SVC_SERVER_KEY: "secret",
    SVC_OIDC_CLIENT_SECRET: "secret",
    SVC_WORKER_ENV: "SVC_*,SVC_SERVER_KEY",
    SVC_REGION: "eu",
    PATH: "/bin",
  };
  const seen = { SVC_WORKER_ENV: "SVC_*,SVC_SERVER_KEY", SVC_REGION: "eu", PATH: "/bin" };
  expect([userCodeEnv(env), installerEnv(env)]).toEqual([seen, seen]);
});
