/** People on a test's server: clients that act for different persons, with what they may do. */

import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import { exchange } from "../../harness/browser-session.ts";
import type { TestServer } from "../../harness/running-server.ts";

/** A person's client. */
export interface Person {
  readonly clientId: string;
  readonly token: string;
  /** The same with a new token, of the server that runs now. */
  loggedInAgain(now?: TestServer): Promise<Person>;
  /** A client of a service that calls as the person. */
  client<S extends DescService>(service: S, headers?: Record<string, string>): Client<S>;
}

/** Makes a client of a person of its own. */
export async function person(server: TestServer, folder: string, name: string, permissions: readonly string[]): Promise<Person> {
  const made = await serviceToken(server, name, permissions);
  using db = new Database(join(folder, "data/meta.db"));
  db.query("update client set person_id = null where id = ?").run(made.clientId);
  return loggedIn(server, made);
}

/** Makes a service token of a person, or of who started the server. */
export async function tokenOf(
  server: TestServer,
  maker: Person | undefined,
  name: string,
  permissions: readonly string[],
): Promise<Person> {
  return loggedIn(server, await serviceToken(server, name, permissions, maker?.token));
}

async function serviceToken(server: TestServer, name: string, permissions: readonly string[], token?: string) {
  const tokens = server.client(ServiceTokenService, token === undefined ? {} : { token });
  const { clientSecret, serviceToken: made } = await tokens.createServiceToken({ name, permissions: [...permissions] });
  return { clientId: made?.clientId ?? "", clientSecret };
}

async function loggedIn(server: TestServer, credentials: { readonly clientId: string; readonly clientSecret: string }): Promise<Person> {
  const { clientId, clientSecret } = credentials;
  const token = await exchange(server.url, clientId, clientSecret);
  return {
    clientId,
    token,
    loggedInAgain: (now = server) => loggedIn(now, credentials),
    client: (service, headers = {}) => server.client(service, { token, headers }),
  };
}

/** Changes the configuration of the environment `default`; returns the id of the request, if any. */
export async function configure(
  server: TestServer,
  change: { readonly protected: boolean; readonly name?: string },
  by?: Person,
): Promise<string> {
  const environments = by?.client(EnvironmentService) ?? server.client(EnvironmentService);
  const { config, environment, etag } = await environments.getEnvironmentConfig({});
  if (!config) throw new Error("the environment has no configuration");
  const { approvalId } = await environments.updateEnvironmentConfig({
    environmentId: environment?.id ?? "",
    name: change.name ?? "",
    config: { ...config, protected: change.protected },
    etag,
  });
  return approvalId;
}
