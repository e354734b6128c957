import { commandLine } from "../parts/command-line.ts";
import { scope } from "./place.ts";
import { useEnvironments } from "./who.ts";

/**
 * Makes command lines of `svc` that give what a page shows, in its environment and branch. Words
 * that are undefined are left out.
 */
export function useCommand(): (...words: readonly (string | undefined)[]) => string {
  const { environments } = useEnvironments();
  const { environment, branch } = scope.value;
  const { name } = environments.find(({ id }) => id === environment) ?? {};
  const isUnique = name !== undefined && environments.filter((one) => one.name === name).length === 1;
  const flags = [
    environment === "" ? undefined : `--environment=${isUnique ? name : environment}`,
    branch === "" ? undefined : `--branch=${branch}`,
  ];
  return (...words) => {
    // What follows `--` is another program's.
    const end = words.indexOf("--");
    const own = end < 0 ? words : words.slice(0, end);
    return commandLine("svc", ...own, ...flags, ...words.slice(own.length));
  };
}
