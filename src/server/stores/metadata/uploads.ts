/** Uploads of source bundles that were announced. */

/** An upload that was announced. */
export interface UploadRecord {
  readonly id: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Uploads. */
export interface UploadStore {
  /** Stores an upload, and removes those that expired a day before its creation. */
  createUpload(upload: UploadRecord): Promise<void>;
  upload(id: string): Promise<UploadRecord | undefined>;
  /**
   * Has an upload expire later than at `expiresAt`; false, and nothing changes, when it does not
   * expire then.
   */
  keepUpload(id: string, expiresAt: number, until: number): Promise<boolean>;
}
