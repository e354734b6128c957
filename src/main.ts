import { main } from "./cli/run.ts";
import { categories, commandTree } from "./commands/index.ts";
import { systemDeps } from "./context/system.ts";

const deps = { tree: commandTree, categories, ...systemDeps() };
process.exitCode = await main(process.argv.slice(2), deps);
await deps.afterwards();
await deps.close();
