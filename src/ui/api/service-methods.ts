/** The methods of services, read off their types: nothing of a service itself is in the bundle. */

import type { DescMessage, MessageJsonType } from "@bufbuild/protobuf";

interface MethodType {
  readonly methodKind: string;
  readonly input: DescMessage;
  readonly output: DescMessage;
}

/** The methods of a kind, by `Service/Method`. */
type OfKind<Services, Kind extends string> = {
  [Name in keyof Services & string]: Services[Name] extends { readonly method: infer Own }
    ? { [M in keyof Own & string as Own[M] extends { readonly methodKind: Kind } ? `${Name}/${Capitalize<M>}` : never]: Own[M] }
    : never;
}[keyof Services & string];

type Joined<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void ? All : never;

type Called<All> = {
  [Name in keyof All]: All[Name] extends MethodType
    ? [request: MessageJsonType<All[Name]["input"]>, response: MessageJsonType<All[Name]["output"]>]
    : never;
};

/** Methods with one response: `Service/Method` to request and response. */
export type UnaryMethods<Services> = Called<Joined<OfKind<Services, "unary">>>;
/** Methods with a stream of responses. */
export type StreamingMethods<Services> = Called<Joined<OfKind<Services, "server_streaming">>>;
