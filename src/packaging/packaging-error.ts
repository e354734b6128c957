/** The build cannot go on; the message says why and what to do, without a stack. */
export class PackagingError extends Error {
  override readonly name = "PackagingError";
}
