/**
 * The keys that are for `svc shell` itself, as those of ssh: at the beginning of a line, `~.` ends
 * the shell, and `~~` stands for one `~`.
 */

const [TILDE, DOT, RETURN, NEWLINE] = [0x7e, 0x2e, 0x0d, 0x0a];

/** Looks through what is typed. */
export class EscapeKeys {
  private isAtStart = true;
  private isEscaped = false;

  /** The bytes that are for the program, and whether the shell is to be ended. */
  take(bytes: Uint8Array): { readonly bytes: Uint8Array; readonly isEnd: boolean } {
    const kept: number[] = [];
    for (const byte of bytes) {
      if (this.isEscaped) {
        this.isEscaped = false;
        if (byte === DOT) return { bytes: Uint8Array.from(kept), isEnd: true };
        if (byte !== TILDE) kept.push(TILDE);
      } else if (byte === TILDE && this.isAtStart) {
        this.isEscaped = true;
        this.isAtStart = false;
        continue;
      }
      kept.push(byte);
      this.isAtStart = byte === RETURN || byte === NEWLINE;
    }
    return { bytes: Uint8Array.from(kept), isEnd: false };
  }
}
