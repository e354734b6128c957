import { test } from "bun:test";
import { TempFolder, TestServer } from "./harness/running-server.ts";

const cpu = (c: NodeJS.CpuUsage) => {
  const x = process.cpuUsage(c);
  return ((x.user + x.system) / 1000).toFixed(0);
};
test("x", async () => {
  for (let i = 0; i < 8; i++) {
    let c = process.cpuUsage();
    const f = new TempFolder();
    const s = await TestServer.start(f.path);
    const a = cpu(c);
    c = process.cpuUsage();
    await Bun.sleep(1500);
    const idle = cpu(c);
    c = process.cpuUsage();
    await s.token();
    const tok = cpu(c);
    c = process.cpuUsage();
    await s[Symbol.asyncDispose]();
    f[Symbol.dispose]();
    console.log(i, "start", a, "sleep", idle, "token", tok, "stop", cpu(c));
  }
}, 60000);
