import type { WrittenPackage } from "../../client-packages/write-package.ts";
import { textView } from "../../output/view.ts";

/** The path of a package that was written. */
export const writtenPackageView = textView((written: WrittenPackage) => written.path);
