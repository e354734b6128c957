/** Folders in which programs are looked for. */

/**
 * The folders of a `PATH`, in order. Relative and empty entries are left out: they would run what
 * lies in the working directory.
 */
export function searchFolders(path: string | undefined, delimiter: string): string[] {
  return (path ?? "").split(delimiter).filter((folder) => /^([/\\]|[A-Za-z]:[/\\])/.test(folder));
}
