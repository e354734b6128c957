/**
 * The Connect services as HTTP handlers by path. A service's generated code is loaded with its
 * first call.
 */

import { getOption } from "@bufbuild/protobuf";
import { type ConnectRouter, type ContextValues, createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { universalServerResponseToFetch } from "@connectrpc/connect/protocol";
import { max_body_bytes, Permission, permission } from "../../../../gen/svc/v1/options_pb.ts";
import { implementationOf, SERVICES, type Service } from "../../../contract/services.ts";
import { importModule } from "../../../modules.ts";
import { authorize } from "../../access/authorize.ts";
import type { Caller } from "../../access/tokens.ts";
import { endpointName, isAudited } from "../../audit/audited.ts";
import { type CallNote, keepRow, rowOf } from "../call-audit.ts";
import { SHORT_BODY_BYTES } from "../http/body.ts";
import type { BodyShare } from "../http/body-budget.ts";
import { MIN_COMPRESSED_BYTES } from "../http/content-encoding.ts";
import { admit, auditInterceptor, endingKey, errorInterceptor, refuse, requestGate, toConnectError } from "../interceptors.ts";
import type { OpenStream } from "../open-streams.ts";
import type { Platform } from "../platform.ts";
import { checkCallBody } from "./call-body.ts";
import { COMPRESSIONS, hasSecret, readCallBody, uncompressed } from "./call-encoding.ts";

/**
 * A handler of calls that were authorized and whose body was read. `caller` is undefined for
 * methods that need no credentials; `address` returns the client's address, where it is known.
 */
export type CallHandler = (request: Request, body: Uint8Array, caller: Caller | undefined, address?: () => string) => Promise<Response>;

/** A method of a service. */
export interface CallMethod {
  /**
   * The caller, determined before any of the body is read; undefined for methods that need no
   * credentials. Throws Failure when the call is not permitted.
   */
  readonly authorize: (headers: Headers) => Promise<Caller | undefined>;
  /** Reads the body of an authorized call. Throws BodyRefused. */
  readonly receive: (request: Request, share: BodyShare) => Promise<Uint8Array>;
  readonly handle: CallHandler;
  /**
   * Answers a call that was refused before its body was read, with an error in the call's protocol.
   */
  readonly refuse: (request: Request, error: unknown) => Promise<Response>;
}

/** The methods of all services. */
export interface ServiceMethods {
  /** The method of a path `/svc.v1.<Service>/<Method>`; undefined when there is none. */
  find(path: string): Promise<CallMethod | undefined>;
}

/** The module that implements a service. */
export interface ServiceModule {
  register(router: ConnectRouter, platform: Platform): void;
  /**
   * Direct handlers by path, which take the calls that they can and leave others to the general
   * handler.
   */
  direct?(): Promise<Readonly<Record<string, (platform: Platform, general: CallHandler) => CallHandler>>>;
}

/** Loads the module that implements a service. */
export async function loadService(service: Service): Promise<ServiceModule> {
  return (await importModule(implementationOf(service))) as ServiceModule;
}

/**
 * Makes the methods of all services; a service is loaded with the first call of one of its methods.
 */
export function createServiceMethods(platform: Platform): ServiceMethods {
  const loaded = new Map<string, Promise<Map<string, CallMethod>>>();

  /** @param stated the permission of all methods; absent = each states its own */
  const load = async (module: ServiceModule, stated?: Permission): Promise<Map<string, CallMethod>> => {
    const direct = await module.direct?.();
    const router = createConnectRouter({
      interceptors: [auditInterceptor(platform), errorInterceptor(platform)],
      requestGate,
      grpc: false,
      acceptCompression: [...COMPRESSIONS],
      compressMinBytes: MIN_COMPRESSED_BYTES,
      binaryOptions: { readUnknownFields: false },
    });
    module.register(router, platform);
    return new Map(
      router.handlers.map((made) => {
        const handler = hasSecret(made.method.output) ? uncompressed(made) : made;
        const needed = stated ?? getOption(handler.method, permission);
        const general =
          stated === undefined && isAudited(handler.method)
            ? auditedHandler(platform, handler)
            : isStream(handler)
              ? streamHandler(platform, handler)
              : generalHandler(handler);
        const maxBytes = getOption(handler.method, max_body_bytes) || SHORT_BODY_BYTES;
        return [
          handler.requestPath,
          {
            authorize: (headers) => authorize(platform.callers, headers, needed),
            receive: (request, share) => readCallBody(request, maxBytes, { share, inflates: needed !== Permission.PUBLIC }),
            handle: direct?.[handler.requestPath]?.(platform, general) ?? general,
            refuse: (request, error) =>
              respond(handler, request, NO_BODY, refuse(toConnectError(platform, handler.requestPath.slice(1), error))),
          },
        ];
      }),
    );
  };

  return {
    async find(path) {
      const name = path.slice(1, path.lastIndexOf("/"));
      const service = Object.values(SERVICES).find(({ typeName }) => typeName === name);
      const standard = Object.hasOwn(STANDARD, name) ? STANDARD[name] : undefined;
      if (!service && !standard) return undefined;
      const begin = async () => (service ? load(await loadService(service)) : standard?.(load, name)) ?? new Map<string, CallMethod>();
      const methods = loaded.get(name) ?? begin();
      loaded.set(name, methods);
      return (await methods).get(path);
    },
  };
}

/** Loads the methods of a service of gRPC's own. */
type Standard = (
  load: (module: ServiceModule, stated: Permission) => Promise<Map<string, CallMethod>>,
  name: string,
) => Promise<Map<string, CallMethod>>;

/**
 * gRPC's own services, which are open to anyone, change nothing and have no rows in the audit log.
 */
const STANDARD: Readonly<Record<string, Standard>> = {
  "grpc.health.v1.Health": async (load) => load(await import("../grpc/health.ts"), Permission.PUBLIC),
  "grpc.reflection.v1.ServerReflection": reflection,
  "grpc.reflection.v1alpha.ServerReflection": reflection,
};

async function reflection(_: unknown, name: string): Promise<Map<string, CallMethod>> {
  const { createReflectionMethod } = await import("../grpc/reflection.ts");
  return new Map([[`/${name}/ServerReflectionInfo`, createReflectionMethod()]]);
}

const NO_BODY = new Uint8Array(0);

/** Serves a method in all protocols and encodings of Connect. */
function generalHandler(handler: UniversalHandler, note?: CallNote): CallHandler {
  return async (request, body, caller, address) => {
    try {
      checkCallBody(handler.method.input, request.headers.get("content-type") ?? "", body);
    } catch (error) {
      return respond(handler, request, NO_BODY, refuse(error));
    }
    return respond(handler, request, body, admit(caller, address?.() ?? "", note));
  };
}

function isStream({ method }: UniversalHandler): boolean {
  return method.methodKind === "server_streaming";
}

/** The same for a method that answers with a stream, which is looked after while it is open. */
function streamHandler(platform: Platform, handler: UniversalHandler): CallHandler {
  return async (request, body, caller, address) => {
    if (!caller) return generalHandler(handler)(request, body, caller, address);
    let stream: OpenStream;
    try {
      checkCallBody(handler.method.input, request.headers.get("content-type") ?? "", body);
      stream = platform.openStreams.open(caller, request.headers);
    } catch (error) {
      return respond(handler, request, NO_BODY, refuse(toConnectError(platform, handler.requestPath.slice(1), error)));
    }
    const values = admit(caller, address?.() ?? "").set(endingKey, stream.signal);
    try {
      const response = await respond(handler, request, body, values, stream);
      // A body that nobody takes does not end.
      if (request.signal.aborted) stream.close();
      else request.signal.addEventListener("abort", stream.close, { once: true });
      return response;
    } catch (error) {
      stream.close();
      throw error;
    }
  };
}

/** The same for a method whose calls are answered when the audit log has their row. */
function auditedHandler(platform: Platform, handler: UniversalHandler): CallHandler {
  const endpoint = endpointName(handler.method);
  return async (request, body, caller, address) => {
    const row = await rowOf(platform, { endpoint, headers: request.headers, caller, address: address?.() ?? "" });
    const note: CallNote = {};
    const response = await generalHandler(handler, note)(request, body, caller, address);
    try {
      await keepRow(platform, row, { ...note, code: note.code ?? "invalid_argument" });
      return response;
    } catch (error) {
      return respond(handler, request, NO_BODY, refuse(toConnectError(platform, endpoint, error)));
    }
  };
}

async function respond(
  handler: UniversalHandler,
  request: Request,
  body: Uint8Array,
  contextValues: ContextValues,
  stream?: OpenStream,
): Promise<Response> {
  const response = await handler({
    httpVersion: "1.1",
    method: request.method,
    url: request.url,
    header: request.headers,
    body: once(body),
    signal: stream ? AbortSignal.any([request.signal, stream.signal]) : request.signal,
    contextValues,
  });
  if (stream) return universalServerResponseToFetch({ ...response, body: closing(response.body ?? once(NO_BODY), stream) });
  if (handler.method.methodKind !== "unary" || !response.body) return universalServerResponseToFetch(response);
  const headers = new Headers(response.header);
  headers.set("vary", "accept-encoding");
  return new Response(await collect(response.body), { status: response.status, headers });
}

/** The body of a stream, which is noted as ended with it. */
async function* closing(body: AsyncIterable<Uint8Array>, stream: OpenStream): AsyncIterable<Uint8Array> {
  try {
    yield* body;
  } finally {
    stream.close();
  }
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
