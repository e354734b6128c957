/** Opens the database of argv; says when it waits for others, and when it has it open. */

import { openDatabase } from "../../../../src/server/stores/sqlite/open.ts";

const sleep = Bun.sleepSync;
let said = false;
Bun.sleepSync = (ms) => {
  if (!said) console.log("waits");
  said = true;
  sleep(ms);
};
const migrations = [() => undefined];
openDatabase({ path: process.argv[2] ?? "", applicationId: 1, migrations, synchronous: "normal", programVersion: "1" }).close();
console.log("opened");
