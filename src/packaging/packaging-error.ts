/** A failure of the build; its message says why and what to do, without a stack. */
export class PackagingError extends Error {
  override readonly name = "PackagingError";
}
