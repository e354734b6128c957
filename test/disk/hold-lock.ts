import { withFileLock } from "../../src/disk/lock.ts";

await withFileLock(process.argv[2] ?? "", { what: "test" }, async () => {
  console.log("held");
  await new Promise(() => setInterval(() => undefined, 1000));
});
