/** The Connect services as HTTP handlers by path. A service's generated code is loaded with its first call. */

import { type ConnectRouter, createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { universalServerResponseToFetch } from "@connectrpc/connect/protocol";
import { errorInterceptor, permissionInterceptor } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Answers a call whose body was read. */
export type CallHandler = (request: Request, body: Uint8Array) => Promise<Response>;

/** The handlers of all services. */
export interface ServiceHandlers {
  /** The handler of a path `/svc.v1.<Service>/<Method>`; undefined when there is none. */
  find(path: string): Promise<CallHandler | undefined>;
}

/** What implements a service. */
interface ServiceModule {
  register(router: ConnectRouter, platform: Platform): void;
  /** Ways of its own that are put before the general handlers, by path. */
  readonly direct?: Readonly<Record<string, (platform: Platform, otherwise: CallHandler) => CallHandler>>;
}

/** Every service of the contract with the module that implements it. */
export const SERVICE_MODULES: Readonly<Record<string, () => Promise<ServiceModule>>> = {
  "svc.v1.AuthService": () => import("./auth.ts"),
  "svc.v1.DeploymentService": () => import("./deployment.ts"),
  "svc.v1.EnvironmentService": () => import("./environment.ts"),
  "svc.v1.GraphService": () => import("./graph.ts"),
  "svc.v1.HealthService": () => import("./health.ts"),
  "svc.v1.QueryService": async () => {
    const [service, { QUERY_PATH, serveQueryDirectly }] = await Promise.all([import("./query.ts"), import("./query-direct.ts")]);
    return { ...service, direct: { [QUERY_PATH]: serveQueryDirectly } };
  },
};

/** Makes the handlers. Errors go outside of permissions, so that a refusal is translated too. */
export function createServiceHandlers(platform: Platform): ServiceHandlers {
  const interceptors = [errorInterceptor(platform), permissionInterceptor(platform.tokens)];
  const loaded = new Map<string, Promise<Map<string, CallHandler>>>();

  const load = async (name: string): Promise<Map<string, CallHandler>> => {
    const module = await SERVICE_MODULES[name]?.();
    const router = createConnectRouter({ interceptors, grpc: false });
    module?.register(router, platform);
    return new Map(
      router.handlers.map((handler) => {
        const general = callHandler(handler);
        return [handler.requestPath, module?.direct?.[handler.requestPath]?.(platform, general) ?? general];
      }),
    );
  };

  return {
    async find(path) {
      const name = path.slice(1, path.lastIndexOf("/"));
      if (!(name in SERVICE_MODULES)) return undefined;
      const service = loaded.get(name) ?? load(name);
      loaded.set(name, service);
      return (await service).get(path);
    },
  };
}

function callHandler(handler: UniversalHandler): CallHandler {
  const isUnary = handler.method.methodKind === "unary";
  return async (request, body) => {
    const response = await handler({
      httpVersion: "1.1",
      method: request.method,
      url: request.url,
      header: request.headers,
      body: once(body),
      signal: request.signal,
    });
    if (!isUnary || !response.body) return universalServerResponseToFetch(response);
    return new Response(await collect(response.body), {
      status: response.status,
      ...(response.header ? { headers: response.header } : {}),
    });
  };
}

async function* once(body: Uint8Array): AsyncIterable<Uint8Array> {
  yield body;
}

async function collect(body: AsyncIterable<Uint8Array>): Promise<Blob | Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of body) chunks.push(chunk as Uint8Array<ArrayBuffer>);
  const [only] = chunks;
  return only && chunks.length === 1 ? only : new Blob(chunks);
}
