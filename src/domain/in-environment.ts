/**
 * Whether a definition is there in an environment.
 * @param environments names of those that it is for; empty = all of them
 * @param name undefined = any environment
 */
export function isInEnvironment(environments: readonly string[], name: string | undefined): boolean {
  return name === undefined || environments.length === 0 || environments.includes(name);
}
