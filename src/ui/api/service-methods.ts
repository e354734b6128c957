/** The methods of a service, read off its type: nothing of the service itself is in the bundle. */

import type { DescMessage, MessageJsonType } from "@bufbuild/protobuf";

interface MethodType {
  readonly methodKind: string;
  readonly input: DescMessage;
  readonly output: DescMessage;
}
interface ServiceType {
  readonly method: Readonly<Record<string, MethodType>>;
}

type MethodsOfKind<Name extends string, Service extends ServiceType, Kind extends string> = {
  [M in keyof Service["method"] & string as Service["method"][M]["methodKind"] extends Kind ? `${Name}/${Capitalize<M>}` : never]: [
    request: MessageJsonType<Service["method"][M]["input"]>,
    response: MessageJsonType<Service["method"][M]["output"]>,
  ];
};

/** Methods with one response: `Service/Method` to request and response. */
export type UnaryMethods<Name extends string, Service extends ServiceType> = MethodsOfKind<Name, Service, "unary">;
/** Methods with a stream of responses. */
export type StreamingMethods<Name extends string, Service extends ServiceType> = MethodsOfKind<Name, Service, "server_streaming">;
