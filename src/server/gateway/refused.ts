/** What the gateway answers itself. */

import type { Failure } from "../failure.ts";
import { FAILURE_STATUS } from "../wire/http/respond.ts";

/** A request that is answered by the gateway itself. */
export class Refused extends Error {
  override readonly name = "Refused";
  constructor(
    readonly status: number,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }

  /** Why a capability refused it. */
  static of({ kind, message, detail }: Failure): Refused {
    return new Refused(FAILURE_STATUS[kind], message, detail.hint);
  }
}
