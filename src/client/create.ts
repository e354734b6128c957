/**
 * The client of the server, as commands call it. Nothing is read or dialled before the first call.
 */

import type { DescService } from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";
import { tokenCacheDir } from "../config/home.ts";
import { methodsOf } from "../contract/contract.ts";
import { SERVICES, type Service } from "../contract/services.ts";
import { once } from "../domain/once.ts";
import type { Api, HttpClient } from "./api.ts";
import { type ClientHost, type Connection, createConnection } from "./connection.ts";
import { unaryCall } from "./unary.ts";

export type { ClientHost } from "./connection.ts";

const connections = new WeakMap<ClientHost, Connection>();

function connectionOf(host: ClientHost): Connection {
  let connection = connections.get(host);
  if (!connection) {
    connection = createConnection(host);
    connections.set(host, connection);
  }
  return connection;
}

/**
 * The services of the server, for the context of one command. `host` may be the context itself;
 * `createHttp` of the same object shares tokens and connections with it.
 */
export function createApi(host: ClientHost): Api {
  const services = Object.entries(SERVICES).map(([name, service]) => [name, once(async () => clientOf(connectionOf(host), service))]);
  return Object.fromEntries(services);
}

/** The plain HTTP client of the server, for the context of one command. */
export function createHttp(host: ClientHost): HttpClient {
  const objects = () => import("./objects.ts");
  return {
    download: async (url) => (await objects()).download(connectionOf(host), url),
    upload: async (url, body, onSent) => (await objects()).upload(connectionOf(host), url, body, onSent),
    downloadFile: async (url, file) => (await import("./download-file.ts")).downloadFile(connectionOf(host), url, file),
    addressOf: async (url) => (await (await objects()).objectEndpoint(connectionOf(host), url)).address,
    downloadSource: async (url, folder) => {
      const { unpackSource } = await import("./source.ts");
      return unpackSource(await (await objects()).download(connectionOf(host), url), folder);
    },
    openSocket: async (path, headers) => (await import("./socket.ts")).openSocket(connectionOf(host), path, headers),
    ping: async (server) => (await objects()).ping(connectionOf(host), server),
    route: async () => {
      const { endpoint, proxies } = connectionOf(host);
      const { unusableAuthorities } = await import("./tls.ts");
      return {
        proxy: proxies((await endpoint("api")).url)?.shown,
        authoritiesFault: unusableAuthorities(host.surroundings.env.NODE_EXTRA_CA_CERTS),
      };
    },
    session: async () => {
      const connection = connectionOf(host);
      const session = await (await connection.tokens()).get();
      connection.redactor.add(session.accessToken);
      return session;
    },
    checkCredentials: async (clientId, clientSecret, server) =>
      (await objects()).checkCredentials(connectionOf(host), clientId, clientSecret, server),
    forgetToken: async (clientId) => {
      const { url } = await connectionOf(host).endpoint("api");
      await (await import("./auth.ts")).forgetToken(tokenCacheDir(host.surroundings), url, clientId);
    },
    forgetTokens: async () => (await import("./auth.ts")).forgetTokens(tokenCacheDir(host.surroundings)),
  };
}

function clientOf(connection: Connection, { target, typeName }: Service): Client<DescService> {
  const methods = methodsOf(typeName).map((method) => {
    if (method.methodKind === "unary") return [method.localName, unaryCall(connection, target, method)] as const;
    if (method.methodKind === "server_streaming") {
      const call = async function* (init: never, options?: CallOptions) {
        const { streamCall } = await import("./stream.ts");
        yield* streamCall(connection, target, method, init, options);
      };
      return [method.localName, call] as const;
    }
    throw new Error(`${typeName}.${method.name}: no client for ${method.methodKind}`);
  });
  return Object.fromEntries(methods) as Client<DescService>;
}
