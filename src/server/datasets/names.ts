/** Names of datasets and of their files. */

import { Failure } from "../failure.ts";

const MAX_NAME = 200;
const MAX_FILE_NAME_BYTES = 255;
/** Ids of datasets and revisions begin with these, so that no name can be taken for one. */
const ID = /^(dst|rev)_/;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** Throws Failure invalid_argument for what cannot be the name of a dataset. */
export function checkDatasetName(name: string): void {
  if (name === "" || name.length > MAX_NAME || name.trim() !== name || INVISIBLE.test(name))
    throw new Failure("invalid_argument", `The name of a dataset cannot be ${JSON.stringify(name.slice(0, 50))}.`, {
      hint: `A name has 1 to ${MAX_NAME} characters, none of them control characters, and no space at its ends.`,
    });
  if (ID.test(name))
    throw new Failure("invalid_argument", `The name of a dataset cannot be '${name.slice(0, 50)}', because ids begin like that.`, {
      hint: "Choose a name that does not begin with `dst_` or `rev_`.",
    });
}

/** Throws Failure invalid_argument for what cannot be the name of a file. */
export function checkFileName(name: string): void {
  const isPath = /[/\\]/.test(name) || name === "." || name === "..";
  if (name === "" || Buffer.byteLength(name) > MAX_FILE_NAME_BYTES || isPath || INVISIBLE.test(name))
    throw new Failure("invalid_argument", `The name of a file cannot be ${JSON.stringify(name.slice(0, 50))}.`, {
      hint: `A name has 1 to ${MAX_FILE_NAME_BYTES} bytes, without slashes and control characters.`,
    });
}
