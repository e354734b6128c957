/** A project folder: `svc.yaml`, the files that belong to a deployment, and their bundle. */

import type { Diagnostic, Span } from "../../gen/svc/v1/error_pb.ts";

/** Settings of one environment in the project file. */
export interface ProjectEnvironment {
  /** Environment name, or `default`. */
  readonly name: string;
  /** Requirements file relative to the root. */
  readonly requirements?: string;
  /** `python310` to `python313`. */
  readonly runtime?: string;
  /** Sets of requirements that resolvers name by `venv=`. */
  readonly venvs?: readonly ProjectVenv[];
  readonly dockerfile?: string;
  readonly platformVersion?: string;
  /** Ignore file of this environment, beside .gitignore and .svcignore. */
  readonly ignoreFile?: string;
}

/** A set of requirements in the project file. */
export interface ProjectVenv {
  readonly name: string;
  /** Requirements file relative to the root. */
  readonly requirements: string;
  /** Undefined = that of the environment. */
  readonly runtime?: string;
  /** Place of its name in the project file. */
  readonly span: Span;
}

/** Severity of the metadata policy (lint 192) per kind and field. */
export interface MetadataPolicy {
  readonly feature?: readonly {
    readonly name: "owner" | "description" | "tags";
    readonly missing: "error" | "warn";
  }[];
  readonly resolver?: readonly {
    readonly name: "owner" | "description" | "tags";
    readonly missing: "error" | "warn";
  }[];
}

/** A file of the project. */
export interface ProjectFile {
  /** Relative to the root, with `/`. */
  readonly path: string;
  readonly size: number;
}

/** The files of a project's folder. */
export interface Listing {
  /** Files that are uploaded, sorted. */
  readonly files: readonly ProjectFile[];
  /** Paths of files, and of folders with a `/` behind, that look like secrets, sorted. */
  readonly secrets: readonly string[];
}

/** A project on disk. */
export interface Project {
  /** Absolute path of the folder with the project file. */
  readonly root: string;
  /** Absolute path of `svc.yaml` or `svc.yml`. */
  readonly configPath: string;
  readonly name: string;
  readonly environments: readonly ProjectEnvironment[];
  readonly validation: MetadataPolicy;
  /** Findings about the project file itself (190). */
  readonly diagnostics: readonly Diagnostic[];
  /** The settings for an environment: its own entry, else `default`. */
  environment(name: string | undefined): ProjectEnvironment;
  /** Files that are uploaded, sorted. */
  files(environment?: string): Promise<readonly ProjectFile[]>;
  /** The same, with what is not uploaded because it looks like a secret. */
  list(environment?: string): Promise<Listing>;
  /** A gzip-compressed tar of those files, deterministic for equal content. */
  bundle(environment?: string): Promise<SourceBundle>;
}

/** A source bundle. */
export interface SourceBundle {
  readonly bytes: Uint8Array;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly files: readonly ProjectFile[];
}
