/** The `.proto` files of the services that the server answers. */

import { readFileSync } from "node:fs";

/**
 * Text of every file, by the name that others import it by, such as `svc/v1/query.proto`; sorted.
 */
export function protoFiles(): Record<string, string> {
  const root = `${import.meta.dir}/../../proto`;
  const names = [...new Bun.Glob("{grpc,svc}/**/*.proto").scanSync({ cwd: root })].map((name) => name.replaceAll("\\", "/")).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(`${root}/${name}`, "utf8")]));
}
