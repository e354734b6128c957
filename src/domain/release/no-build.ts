/**
 * Texts for machines that no build is made for: a release has the text under the name of that
 * build, and a mirror answers with it.
 */

/** The text for 32-bit Windows. */
export const NO_BUILD_FOR_386 = {
  target: "windows-386",
  text: `There is no svc for 32-bit Windows (windows-386).

svc carries the runtime that it is written for, Bun, and Bun has no build for 32-bit processors.

- Windows itself is mostly 64-bit, also where a 32-bit program says x86: Settings > System > About > System type.
  There, take svc-windows-amd64.exe, or svc-windows-arm64.exe on ARM, or run install.ps1, which picks it.
- On a machine that really is 32-bit, ask the API of a server on another machine:
  POST /v1/query/online over HTTP from any language, or SvcClient from Python, which needs nothing but Python.
`,
} as const;
