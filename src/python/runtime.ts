/** Names of Python versions as in the project file. */

/** Minor versions of Python 3 that the SDK runs on, newest first. */
export const SUPPORTED_MINORS: readonly number[] = [13, 12, 11, 10];

/** The versions of Python that the SDK runs on, as installers compare them. */
export const REQUIRES_PYTHON = `>=3.${Math.min(...SUPPORTED_MINORS)}`;

/**
 * The minor version that a runtime names: 11 for `python311`; undefined when it names none that is
 * supported.
 */
export function runtimeMinor(runtime: string): number | undefined {
  const match = /^python3\.?(\d+)$/.exec(runtime);
  const minor = match ? Number(match[1]) : undefined;
  return minor !== undefined && SUPPORTED_MINORS.includes(minor) ? minor : undefined;
}

/** The supported runtimes in words. */
export const RUNTIME_NAMES = SUPPORTED_MINORS.map((minor) => `python3${minor}`)
  .reverse()
  .join(", ");
