/** Flags for what a container runs, which containers, sandboxes and scaling groups share. */

import type { ContainerVariable } from "../../gen/svc/v1/container_pb.ts";
import { bool, keyValue, list, path, quantity, text } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { readPairs } from "./secret/pairs-flags.ts";

/** Flags of the image and its limits. */
export const imageFlags = {
  image: text("image, as the server's container engine names it", { aliases: ["-i"], required: true, placeholder: "<image>" }),
  cpu: quantity("processors at most, such as 500m or 2", { placeholder: "<cpus>" }),
  memory: quantity("memory at most, such as 256Mi; at least 4Mi", { placeholder: "<bytes>" }),
};

/** Flags of what has a route. */
export const routeFlags = {
  gpu: text("accelerators, count or type:count; refused by servers that have none", { placeholder: "<count>" }),
  grpc: bool("the port speaks gRPC: HTTP/2 without TLS"),
  private: bool("only clients on the server's machine reach the route", { aliases: ["--private-routing"] }),
  authenticated: bool("the route wants a token with the permission query.online", { aliases: ["--jwt-auth"] }),
  tags: list(keyValue("mark it: key=value, several separated by commas"), { split: true }),
  envFile: path("file of KEY=VALUE lines; --env wins over it", { placeholder: "<file>" }),
  secret: list(text("give it a secret of the environment, as the variable of its name", { placeholder: "<name>" }), { split: true }),
};

/** Variables of a container: those of a file, then those of flags, which win, and secrets. */
export async function variablesOf(
  { machine }: Pick<Context, "machine">,
  {
    env,
    envFile,
    secret,
  }: { readonly env: readonly (readonly [string, string])[]; readonly envFile?: string; readonly secret: readonly string[] },
): Promise<Omit<ContainerVariable, "$typeName" | "$unknown">[]> {
  const plain = new Map([...(envFile === undefined ? [] : await pairsOfFile(machine, envFile)), ...env]);
  for (const name of secret) if (plain.has(name)) throw new UsageError(`${name} is given as a value and as a secret`);
  return [
    ...[...plain].map(([name, value]) => ({ name, source: { case: "value" as const, value } })),
    ...secret.map((name) => ({ name, source: { case: "secret" as const, value: name } })),
  ];
}

async function pairsOfFile(machine: Context["machine"], file: string): Promise<[string, string][]> {
  const content = await machine.readText(file);
  if (content === undefined) throw new CliError(`there is no file ${file}`, { code: "not_found" });
  return readPairs(content, file);
}

/** Variables of comma lists: a comma parts them where a further KEY= follows. */
export function variablesOfLists(lists: readonly (readonly [string, string])[]): Omit<ContainerVariable, "$typeName" | "$unknown">[] {
  const pairs = lists.flatMap(([name, value]) => `${name}=${value}`.split(/,(?=[A-Za-z_][A-Za-z0-9_]*=)/));
  const named = new Map(pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
  return [...named].map(([name, value]) => ({ name, source: { case: "value" as const, value } }));
}

/** Volumes of flags: `name:/path`. */
export function volumesOf(texts: readonly string[]): { readonly volume: string; readonly path: string }[] {
  return texts.map((text) => {
    const [, volume = "", at = ""] = /^([^:]+):(\/.*)$/.exec(text) ?? [];
    if (volume === "") throw new UsageError(`'${text.slice(0, 100)}' is no volume: expected <name>:/path`);
    return { volume, path: at };
  });
}

/** Flags that name one of several by id or name. */
export const whichFlags = {
  id: text("id", { placeholder: "<id>" }),
  name: text("name", { aliases: ["-n"], placeholder: "<name>" }),
};

/** Throws UsageError unless one of `--id` and `--name` is given. */
export function checkWhich({ id, name }: { readonly id?: string | undefined; readonly name?: string | undefined }): void {
  if (id !== undefined && name !== undefined) throw new UsageError("--id and --name do not go together");
  if (id === undefined && name === undefined) throw new UsageError("one of --id and --name is required");
}

/** A port of flags. Throws UsageError. */
export function checkPort(port: number | undefined): void {
  if (port !== undefined && (port < 1 || port > 65_535)) throw new UsageError("--port is from 1 to 65535");
}
