/**
 * Stores observations without end in a folder, moving them all the time, until it is killed. Says
 * on stdout which process owns the history, `history PID`, and the last value that is stored for
 * certain, `stored N`. Values are the integers from the one that is given.
 */

import { writeSync } from "node:fs";
import { openEmbedded } from "./drivers.ts";
import { featureVersion } from "./versions.ts";

const [folder = "", first = "0"] = process.argv.slice(2);
const VERSIONS = [1, 2, 3].map((id) => featureVersion(id, { name: `f${id}` }));
const ROWS = 30;

const store = openEmbedded(folder, {
  rowsPerMove: 70,
  unorderedRows: 500,
  onStart: (pid) => writeSync(1, `history ${pid}\n`),
  onMoveFailure: ({ message }) => writeSync(2, `${message}\n`),
});
let next = Number(first);
for (let commits = 1; ; commits++) {
  await store.append(
    VERSIONS.map((version) => {
      const values = Array.from({ length: ROWS / VERSIONS.length }, () => next++);
      return {
        version,
        deploymentId: "dpl_1",
        resolver: "m.f",
        op: "query",
        keys: values.map((value) => `i:${value % 7}`),
        observedAt: values,
        values,
      };
    }),
  );
  writeSync(1, `stored ${next - 1}\n`);
  if (commits % 4 === 0) await store.scan(1, { limit: 1 }).catch(({ message }: Error) => writeSync(2, `${message}\n`));
}
