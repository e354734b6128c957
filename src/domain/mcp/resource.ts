/** Resources that a program reads over the Model Context Protocol. */

import type { Fields } from "./json-rpc.ts";
import type { Completed } from "./prompt.ts";

/** A resource with a fixed address. */
export interface Resource {
  /** Its address, of the scheme `svc`. */
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: "text/markdown" | "application/json";
}

/** Resources whose addresses have a part of the caller's: RFC 6570. */
export interface ResourceTemplate extends Omit<Resource, "uri"> {
  readonly uriTemplate: string;
  /** What its variable `name` is. */
  readonly completes: Completed;
}

/** The resources of a server. */
export interface Resources {
  readonly list: (signal: AbortSignal) => Promise<readonly Resource[]>;
  readonly templates: readonly ResourceTemplate[];
  /** The text of an address; undefined when there is nothing. Throws ToolFailure. */
  readonly read: (
    uri: string,
    signal: AbortSignal,
  ) => Promise<{ readonly mimeType: Resource["mimeType"]; readonly text: Fields | string } | undefined>;
}
