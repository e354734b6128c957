/** Names of files that mean the same on every system. */

/** Names that Windows gives to devices, with any extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;

/**
 * Whether Windows reads a file's name as it is written: `con.py` is a device there, `a:b` a stream
 * of `a`, and `a.` and `a ` are `a`.
 */
export function isPortableName(name: string): boolean {
  return !(name.includes(":") || DEVICE_NAME.test(name) || /[. ]$/.test(name));
}
