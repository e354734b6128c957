/**
 * Documents: the small settings of the control plane, such as webhooks, integrations and traffic
 * weights. A document has a kind, belongs to a scope, and is known in it by an id and a name; its
 * content is JSON, whose shape is that of its kind. Every method is one atomic step.
 */

/** The documents of one kind in one scope. */
export interface DocumentPlace {
  /** Kind, for example `webhook`. */
  readonly kind: string;
  /** Id of the team, project or environment that the documents belong to. */
  readonly scope: string;
}

/** A document. */
export interface DocumentRecord extends DocumentPlace {
  /** Unique in all kinds and scopes. */
  readonly id: string;
  /** Unique in its place. */
  readonly name: string;
  /** JSON value. Secrets in it are sealed, see `access/sealing.ts`. */
  readonly content: unknown;
  /** 1 for a new document, and one more with each change. */
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The documents. */
export interface DocumentStore {
  /**
   * Stores a new document. Returns `taken`, and changes nothing, when its name is in use at its
   * place, and `full` when `limit` documents are there already.
   */
  insert(document: DocumentRecord, limit: number): Promise<"inserted" | "taken" | "full">;
  /** The document with an id or name at a place; an id takes precedence over a name. */
  find(place: DocumentPlace, idOrName: string): Promise<DocumentRecord | undefined>;
  /** Documents of a kind, of one scope or of all; by name. */
  list(kind: string, scope?: string): Promise<DocumentRecord[]>;
  /**
   * Stores the name, content and time of a document that was read before: its revision is the one
   * that was read, and becomes one more. Returns `stale`, and changes nothing, when the stored
   * revision is another or the document is gone, and `taken` when its new name is in use.
   */
  replace(document: DocumentRecord): Promise<"replaced" | "stale" | "taken">;
  /** Deletes a document and returns it; undefined when there is none with the id at the place. */
  delete(place: DocumentPlace, id: string): Promise<DocumentRecord | undefined>;
  /** Deletes all documents of a scope; returns their number. */
  deleteScope(scope: string): Promise<number>;
}
